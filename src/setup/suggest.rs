//! Keys of `hosts.yaml` that would resolve what the ledger could not: targets that no service lists, hosts that are not listed,
//! programs whose effect is unknown.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::setup::import::naming::{self, is_name};
use crate::setup::import::push_new;
use opsctl_inventory::Installation;
use opsctl_ledger::records::decisions::Decision;
use opsctl_ledger::sessions::seen::SeenName;
use opsctl_policy::decide::{UNLISTED, UNRESOLVED};
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::records::verdict::ResolvedAction;
use opsctl_policy::model::rights::policy::Resolve;
use opsctl_policy::rules::hosts::NOT_LISTED;
use opsctl_policy::targets::identity;
use opsctl_policy::targets::identity::NoSurroundings;
use opsctl_policy::targets::nearest::nearest;
use opsctl_reader::actions::read_command_with;
use opsctl_reader::terms::action::Target;

/// What a suggestion adds to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// `hosts`.
    #[default]
    Hosts,
    /// `services`.
    Services,
    /// `programs`.
    Programs,
    /// `policy.resolve`: a command that names containers by their IDs.
    Ids,
    /// Nothing: a command whose target no key determines.
    Unresolved,
}

/// A suggestion.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// What it adds to.
    pub section: Section,
    /// The name of the entry; of an unresolved command, the command.
    pub name: String,
    /// The host of a service, if it is known.
    pub host: Option<String>,
    /// The key that lists the target, and its value; `None` if the name of the entry is enough.
    pub part: Option<(&'static str, String)>,
    /// The commands that it would resolve, without option values; at most [`MOST_COMMANDS`].
    pub commands: Vec<String>,
    /// A listed service with a similar name.
    pub similar: Option<String>,
    /// How often it was seen.
    pub times: u64,
    /// When it was last seen.
    pub last: Option<DateTime<Utc>>,
}

/// The most commands of a suggestion.
const MOST_COMMANDS: usize = 5;

/// What the ledger contains: decisions, and names of services and hosts in its other tables.
#[derive(Debug, Default)]
pub struct Records {
    /// Decisions, newest first.
    pub decisions: Vec<Decision>,
    /// Names of services in events and actions.
    pub services: Vec<SeenName>,
    /// Hosts of actions.
    pub hosts: Vec<SeenName>,
}

/// The suggestions: hosts, services, programs, commands; the most frequent first.
pub fn suggestions(records: &Records, installation: &Installation) -> Vec<Suggestion> {
    let mut found = Collected::default();
    for decision in &records.decisions {
        of_decision(decision, installation, &mut found);
    }
    for seen in &records.hosts {
        of_host(seen, &installation.inventory, &mut found);
    }
    for seen in &records.services {
        of_service(seen, &installation.inventory, &mut found);
    }
    let mut all: Vec<Suggestion> = found.0.into_values().collect();
    all.sort_by(|a, b| (a.section, b.times, &a.name).cmp(&(b.section, a.times, &b.name)));
    all
}

#[derive(Default)]
struct Collected(BTreeMap<(Section, String), Suggestion>);

impl Collected {
    fn add(
        &mut self,
        section: Section,
        name: &str,
        times: u64,
        last: Option<DateTime<Utc>>,
    ) -> &mut Suggestion {
        let new = || Suggestion { section, name: name.to_owned(), ..Suggestion::default() };
        let entry = self.0.entry((section, name.to_owned())).or_insert_with(new);
        entry.times += times;
        entry.last = entry.last.max(last);
        entry
    }
}

impl Suggestion {
    fn command(&mut self, command: &str) {
        if self.commands.len() < MOST_COMMANDS {
            push_new(&mut self.commands, command.to_owned());
        }
    }
}

/// The parts of a decision's text are commands, without option values.
fn of_decision(decision: &Decision, installation: &Installation, found: &mut Collected) {
    let Installation { inventory, policy, .. } = installation;
    let denied =
        decision.reason.split(NOT_LISTED).filter_map(|text| text.strip_suffix("` ")?.rsplit('`').next());
    for host in denied {
        let seen = SeenName { name: host.to_owned(), host: None, times: 1, last: decision.at };
        of_host(&seen, inventory, found);
    }
    let catalogue = policy.rules.catalogue;
    let services: Vec<&str> = decision.services.split_whitespace().collect();
    let commands: Vec<&str> = decision.actions.split("; ").filter(|command| !command.is_empty()).collect();
    for command in &commands {
        let reading = read_command_with(command, None, catalogue);
        if reading.actions.is_empty() {
            let program = command.split_whitespace().next().unwrap_or_default();
            if decision.effect.as_deref() == Some("unknown")
                && catalogue.find(program).is_none()
                && is_name(program)
            {
                found.add(Section::Programs, program, 1, decision.at).command(command);
            }
            continue;
        }
        // No engine is asked.
        let nowhere = Resolve { local: false, ssh: false };
        let actions = identity::resolve(reading.actions, inventory, nowhere, &NoSurroundings);
        if actions.iter().all(|action| policy.budget(action.action.kind).is_none() || action.listed) {
            continue;
        }
        let Some((service, part)) = recorded(command, &actions, &services, commands.len() == 1) else {
            let asks_all = policy.resolve.local && policy.resolve.ssh;
            let section = if !asks_all && names_ids(&actions) { Section::Ids } else { Section::Unresolved };
            found.add(section, command, 1, decision.at);
            continue;
        };
        if is_listed(service, inventory) {
            continue;
        }
        let service = naming::name(service);
        let suggestion = found.add(Section::Services, &service, 1, decision.at);
        suggestion.command(command);
        suggestion.part = suggestion.part.take().or(part);
        suggestion.similar = similar(&service, inventory);
    }
}

/// The service that was recorded for a command, and the key that lists its target. The text of a command lost its quotes and
/// options: what it seems to name is only the target if it is the recorded service.
fn recorded<'a>(
    command: &str,
    actions: &[ResolvedAction],
    services: &[&'a str],
    is_only_command: bool,
) -> Option<(&'a str, Option<(&'static str, String)>)> {
    if let [action] = actions
        && let Some(service) = services.iter().find(|service| action.service.as_deref() == Some(**service))
    {
        return Some((service, part(&action.action.target, service)));
    }
    let [service] = services else { return None };
    let is_project = command.split_whitespace().take(2).any(|word| word.ends_with("compose"));
    let part = (is_project && is_name(service)).then(|| ("projects", (*service).to_owned()));
    is_only_command.then_some((service, part))
}

/// Whether the targets are IDs of containers.
fn names_ids(actions: &[ResolvedAction]) -> bool {
    let is_id = |action: &ResolvedAction| matches!(&action.action.target, Target::Container(id) if id.bytes().all(|c| c.is_ascii_hexdigit()));
    actions.iter().all(is_id)
}

/// The key that lists a target. A container needs none if the service has its name.
fn part(target: &Target, service: &str) -> Option<(&'static str, String)> {
    let (key, name) = match target {
        Target::Container(_) | Target::ComposeService(_) if target.name() == Some(service) => return None,
        Target::Container(name) | Target::ComposeService(name) => ("containers", name.clone()),
        Target::ComposeProject(name) => ("projects", name.clone()),
        Target::Unit(name) => ("units", name.clone()),
        Target::Workload(workload) => ("workloads", workload.to_string()),
        Target::Guest(guest) => ("guests", guest.to_string()),
        Target::Release(name) => ("releases", name.clone()),
        Target::Playbook(playbook) => ("playbooks", playbook.file.clone()?),
        Target::Service(_) | Target::Recipients(_) | Target::Unknown | Target::Nothing => return None,
    };
    Some((key, name))
}

fn of_host(seen: &SeenName, inventory: &Inventory, found: &mut Collected) {
    let is_local = matches!(seen.name.as_str(), "localhost" | "::1") || seen.name.starts_with("127.");
    if is_local || inventory.find_host(&seen.name).is_some() || !is_host(&seen.name) {
        return;
    }
    found.add(Section::Hosts, &seen.name, seen.times, seen.last);
}

/// A name in events and actions. Decisions count it, too, so that it is only added to what they do not state.
fn of_service(seen: &SeenName, inventory: &Inventory, found: &mut Collected) {
    let is_shared = [UNLISTED, UNRESOLVED].iter().any(|name| {
        seen.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
    });
    // No engine has a container with a blank in its name.
    if is_listed(&seen.name, inventory) || is_shared || seen.name.contains(char::is_whitespace) {
        return;
    }
    let name = naming::name(&seen.name);
    let host = seen.host.as_deref().and_then(|host| inventory.find_host(host)).map(|host| host.name.clone());
    if let Some(known) = found.0.get_mut(&(Section::Services, name.clone())) {
        known.host = known.host.take().or(host);
        return;
    }
    let suggestion = found.add(Section::Services, &name, seen.times, seen.last);
    suggestion.host = host;
    suggestion.similar = similar(&name, inventory);
}

/// Whether a service has this name or a part of this name.
fn is_listed(name: &str, inventory: &Inventory) -> bool {
    let name = inventory.service_named(name);
    inventory.services.iter().any(|service| service.name == name)
}

fn similar(name: &str, inventory: &Inventory) -> Option<String> {
    nearest(name, inventory.services.iter().map(|service| service.name.as_str())).map(str::to_owned)
}

fn is_host(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok() || is_name(text)
}
