//! The compiled policy: an [`Installation`] as JSON, so that a hook needs no YAML.

use std::io::BufRead;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::Installation;
use super::compiled_checks::{ChecksWire, VerifyWire};
use super::compiled_contacts::{ContactWire, ModesWire};
use super::compiled_context::ContextWire;
use super::compiled_rules::RulesWire;
use super::words::{KindWire, OnFailureWire, UnresolvedWire};
use crate::model::hooks::OwnHook;
use crate::model::inventory::{Host, Inventory, Service};
use crate::model::policy::{Budget, Policy, Tier, TierPolicy, Window};
use crate::model::rules::Rules;

/// The version of the format; a hook refuses any other.
const FORMAT: u32 = 1;

/// Why a compiled policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CompiledError {
    /// It is not JSON of the right shape.
    #[error("not a compiled policy: {0}")]
    Shape(#[from] serde_json::Error),
    /// It was written by another release.
    #[error("compiled policy of format {0}, but this opsctl reads format {FORMAT}")]
    Format(u32),
    /// A window or a tier is out of range.
    #[error("compiled policy with `{0}` out of range")]
    Range(&'static str),
}

/// What `opsctl render` compiled: the installation, and the tier it was rendered for, if one was named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compiled {
    /// The hosts, services and limits.
    pub installation: Installation,
    /// The tier of the sessions that these files are for.
    pub tier: Option<Tier>,
}

impl Compiled {
    /// The JSON text, byte-identical for the same installation.
    pub fn to_json(&self) -> Result<String, CompiledError> {
        let mut wire = CompiledWire::from(self);
        wire.rules = Some(to_raw_value(&RulesWire::from(&self.installation.policy))?);
        let windows = &self.installation.context.windows;
        wire.windows = if windows.is_empty() { None } else { Some(to_raw_value(windows)?) };
        let mut text = serde_json::to_string_pretty(&wire)?;
        text.push('\n');
        Ok(text)
    }

    /// Reads what [`Compiled::to_json`] wrote.
    pub fn from_json(text: &[u8]) -> Result<Self, CompiledError> {
        serde_json::from_slice::<CompiledWire>(text)?.into_compiled()
    }
}

/// What a compiled policy begins with: all that a command without an action is held to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// The tier of the sessions that the files are for.
    pub tier: Option<Tier>,
    /// The rules about commands, files and tools.
    pub rules: Rules,
    /// Beginnings of commands that tiers 1, 2 and 3 never run.
    pub deny: [Vec<String>; 3],
}

impl From<Compiled> for Head {
    fn from(compiled: Compiled) -> Self {
        let Compiled { installation, tier } = compiled;
        Self { tier, rules: installation.policy.rules, deny: installation.policy.tiers.map(|tier| tier.deny) }
    }
}

impl Head {
    /// Reads the first lines of what [`Compiled::to_json`] wrote; `None` when they are not the usual ones.
    pub fn read(mut file: impl BufRead) -> Option<Self> {
        let mut head = Self::default();
        let mut line = String::new();
        for _ in 0..6 {
            line.clear();
            file.read_line(&mut line).ok()?;
            let (key, value) = line.trim().split_once(": ").unwrap_or((line.trim(), ""));
            let value = value.trim_end_matches(',');
            match key {
                "\"format\"" if value.parse() != Ok(FORMAT) => return None,
                "\"tier\"" => head.tier = tier(serde_json::from_str(value).ok()?).ok()?,
                "\"rules\"" => {
                    let rules = serde_json::from_str::<RulesWire>(value).ok()?;
                    head.deny.clone_from(rules.deny());
                    head.rules = rules.into_rules().ok()?;
                    return Some(head);
                }
                _ => {}
            }
        }
        None
    }
}

/// The windows of models in the first lines of what [`Compiled::to_json`] wrote; few installations state any.
pub fn read_windows(mut file: impl BufRead) -> Vec<(String, u32)> {
    let mut line = String::new();
    for _ in 0..6 {
        line.clear();
        if file.read_line(&mut line).is_err() {
            break;
        }
        if let Some(value) = line.trim().strip_prefix("\"windows\": ") {
            return serde_json::from_str(value.trim_end_matches(',')).unwrap_or_default();
        }
    }
    vec![]
}

fn tier(number: Option<u8>) -> Result<Option<Tier>, CompiledError> {
    number.map(|number| Tier::from_number(number).ok_or(CompiledError::Range("tier"))).transpose()
}

#[derive(Serialize, Deserialize)]
struct CompiledWire {
    format: u32,
    tier: Option<u8>,
    /// On one line, so that a hook can read it without the rest.
    #[serde(default)]
    rules: Option<Box<RawValue>>,
    /// On one line, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    windows: Option<Box<RawValue>>,
    domain: Option<String>,
    hosts: Vec<HostWire>,
    services: Vec<ServiceWire>,
    policy: PolicyWire,
    /// Only rendering needs them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<OwnHookWire>,
    #[serde(default, skip_serializing_if = "ContextWire::is_default")]
    context: ContextWire,
}

#[derive(Serialize, Deserialize)]
struct OwnHookWire {
    event: String,
    group: String,
}

#[derive(Serialize, Deserialize)]
struct HostWire {
    name: String,
    address: String,
    ssh: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct ServiceWire {
    name: String,
    host: Option<String>,
    containers: Vec<String>,
    projects: Vec<String>,
    units: Vec<String>,
    workloads: Vec<String>,
    releases: Vec<String>,
    playbooks: Vec<String>,
    #[serde(flatten)]
    checks: ChecksWire,
}

#[derive(Serialize, Deserialize)]
struct PolicyWire {
    restart: BudgetWire,
    redeployment: BudgetWire,
    unresolved: UnresolvedWire,
    on_failure: OnFailureWire,
    verify: VerifyWire,
    tiers: [TierWire; 3],
    #[serde(default)]
    modes: ModesWire,
    #[serde(default)]
    contacts: Vec<ContactWire>,
}

#[derive(Serialize, Deserialize)]
struct BudgetWire {
    limit: u32,
    window_seconds: i64,
}

#[derive(Serialize, Deserialize)]
struct TierWire {
    model: String,
    tools: Vec<String>,
    allow: Vec<KindWire>,
    deny: Vec<String>,
    deadline_seconds: i64,
    prompt: Option<PathBuf>,
}

impl From<&Compiled> for CompiledWire {
    fn from(compiled: &Compiled) -> Self {
        let Installation { inventory, policy, hooks, context } = &compiled.installation;
        let budget = |budget: &Budget| BudgetWire {
            limit: budget.limit,
            window_seconds: budget.window.delta().num_seconds(),
        };
        Self {
            format: FORMAT,
            tier: compiled.tier.map(Tier::number),
            rules: None,
            windows: None,
            context: context.into(),
            hooks: hooks
                .iter()
                .cloned()
                .map(|OwnHook { event, group }| OwnHookWire { event, group })
                .collect(),
            domain: inventory.domain.clone(),
            hosts: inventory
                .hosts
                .iter()
                .cloned()
                .map(|Host { name, address, ssh }| HostWire { name, address, ssh })
                .collect(),
            services: inventory.services.iter().cloned().map(ServiceWire::from).collect(),
            policy: PolicyWire {
                restart: budget(&policy.restart),
                redeployment: budget(&policy.redeployment),
                unresolved: policy.unresolved.into(),
                on_failure: policy.on_failure.into(),
                verify: policy.verify.into(),
                modes: policy.modes.into(),
                contacts: policy.contacts.iter().cloned().map(Into::into).collect(),
                tiers: policy.tiers.clone().map(|tier| TierWire {
                    model: tier.model,
                    tools: tier.tools,
                    allow: tier.allow.into_iter().filter_map(KindWire::of).collect(),
                    deny: tier.deny,
                    deadline_seconds: tier.deadline.delta().num_seconds(),
                    prompt: tier.prompt,
                }),
            },
        }
    }
}

impl From<Service> for ServiceWire {
    fn from(service: Service) -> Self {
        let checks = ChecksWire::from(&service);
        let Service { name, host, containers, projects, units, workloads, releases, playbooks, .. } = service;
        Self { name, host, containers, projects, units, workloads, releases, playbooks, checks }
    }
}

impl ServiceWire {
    fn into_service(self) -> Result<Service, CompiledError> {
        let Self { name, host, containers, projects, units, workloads, releases, playbooks, checks } = self;
        let service = Service {
            name,
            host,
            containers,
            projects,
            units,
            workloads,
            releases,
            playbooks,
            ..Service::default()
        };
        checks.put_into(service)
    }
}

impl CompiledWire {
    fn into_compiled(self) -> Result<Compiled, CompiledError> {
        if self.format != FORMAT {
            return Err(CompiledError::Format(self.format));
        }
        let tier = tier(self.tier)?;
        let rules = match &self.rules {
            Some(rules) => serde_json::from_str::<RulesWire>(rules.get())?.into_rules()?,
            None => Rules::default(),
        };
        let budget = |wire: BudgetWire| {
            let window =
                Window::seconds(wire.window_seconds).ok_or(CompiledError::Range("window_seconds"))?;
            Ok::<_, CompiledError>(Budget { limit: wire.limit, window })
        };
        let [one, two, three] = self.policy.tiers;
        let policy = Policy {
            rules,
            restart: budget(self.policy.restart)?,
            redeployment: budget(self.policy.redeployment)?,
            unresolved: self.policy.unresolved.into(),
            on_failure: self.policy.on_failure.into(),
            verify: self.policy.verify.into_verification()?,
            modes: self.policy.modes.into(),
            contacts: self.policy.contacts.into_iter().map(Into::into).collect(),
            tiers: [tier_policy(one)?, tier_policy(two)?, tier_policy(three)?],
        };
        let inventory = Inventory {
            domain: self.domain,
            hosts: self
                .hosts
                .into_iter()
                .map(|HostWire { name, address, ssh }| Host { name, address, ssh })
                .collect(),
            services: self.services.into_iter().map(ServiceWire::into_service).collect::<Result<_, _>>()?,
        };
        let hooks =
            self.hooks.into_iter().map(|OwnHookWire { event, group }| OwnHook { event, group }).collect();
        let windows =
            self.windows.map(|windows| serde_json::from_str(windows.get())).transpose()?.unwrap_or_default();
        let context = self.context.into_policy(windows);
        Ok(Compiled { installation: Installation { inventory, policy, hooks, context }, tier })
    }
}

fn tier_policy(wire: TierWire) -> Result<TierPolicy, CompiledError> {
    let TierWire { model, tools, allow, deny, deadline_seconds, prompt } = wire;
    let deadline = Window::seconds(deadline_seconds).ok_or(CompiledError::Range("deadline_seconds"))?;
    let allow = allow.into_iter().map(Into::into).collect();
    Ok(TierPolicy { model, tools, allow, deny, deadline, prompt })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiled_policy_reads_back_as_it_was() {
        let context = "context:\n  files: [a.md, b/**]\n  tiers: {2: [c.md]}\n  roles: {chief: {file: CHIEF.md, files: [d.md]}}\n  \
                       role_folder: roles\n  windows: {local: 32768, claude-x: 500000}\n";
        for context in ["", context] {
            let text = format!("{}\n{context}", include_str!("../../hosts.yaml"));
            let installation = super::super::load::parse(&text).unwrap();
            let compiled = Compiled { installation, tier: Some(Tier::Remediate) };
            let json = compiled.to_json().unwrap();
            assert_eq!(Compiled::from_json(json.as_bytes()).unwrap(), compiled);
            assert_eq!(read_windows(json.as_bytes()), compiled.installation.context.windows);
            assert!(Head::read(json.as_bytes()).is_some());
        }
    }

    #[test]
    fn a_policy_of_another_release_is_refused() {
        let json = Compiled::default().to_json().unwrap().replace("\"format\": 1", "\"format\": 2");
        assert!(matches!(Compiled::from_json(json.as_bytes()), Err(CompiledError::Format(2))));
    }
}
