//! The shape of `hosts.yaml`. These types mirror the file and stop at `check`.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_saphyr::Spanned;

use super::wire_checks::{DnsWire, VerifyWire};
use super::wire_contacts::{ContactWire, ModesWire};
use super::wire_context::ContextWire;
use super::wire_hooks::HookWire;
use super::wire_rules::{NeverWire, PathRuleWire, ToolRuleWire};
use super::words::{EngineWire, KindWire, OnFailureWire, UnresolvedWire};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostsFileWire {
    /// DNS domain of the services: SERVICE.DOMAIN is a service's name, `https://SERVICE.DOMAIN/health` its health.
    pub domain: Option<Spanned<String>>,
    /// The machines, by the names that people use.
    #[serde(default)]
    pub hosts: Option<Entries<HostWire>>,
    /// The services, by the names under which budgets and events are kept.
    #[serde(default)]
    pub services: Option<Entries<Option<ServiceWire>>>,
    /// The limits.
    #[serde(default)]
    pub policy: Option<PolicyWire>,
    /// Those whom sessions may write to, by names of your own; [modes.md](modes.md) tells more.
    #[serde(default)]
    pub contacts: Option<Entries<ContactWire>>,
    /// Hooks of your own beside ours, by the client's event; [hooks.md](hooks.md) tells more.
    #[serde(default)]
    pub hooks: Option<Entries<Vec<Spanned<HookWire>>>>,
    /// What sessions are given to read at their start.
    #[serde(default)]
    pub context: Option<ContextWire>,
}

/// One host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostWire {
    /// IPv4, IPv6 or DNS name.
    pub address: Spanned<String>,
    /// The ssh destination, such as `root@ie01`; none: nobody logs in there.
    pub ssh: Option<Spanned<String>>,
}

/// One service; every key has a default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceWire {
    /// The host that it runs on, one of `hosts`.
    pub host: Option<Spanned<String>>,
    /// Names of its containers and compose services; the service's own name unless given.
    pub containers: Vec<Spanned<String>>,
    /// Names of its compose projects.
    pub projects: Vec<Spanned<String>>,
    /// Its systemd or init units.
    pub units: Vec<Spanned<String>>,
    /// Its Kubernetes workloads.
    pub workloads: Vec<Spanned<String>>,
    /// Its helm releases.
    pub releases: Vec<Spanned<String>>,
    /// File names of the playbooks that deploy it.
    pub playbooks: Vec<Spanned<String>>,
    /// How its health is asked for over HTTP; `https://SERVICE.DOMAIN/health` unless given.
    pub health: Option<HealthWire>,
    /// The DNS name that must resolve; SERVICE.DOMAIN unless given.
    pub dns: Option<Spanned<DnsWire>>,
    /// Ports that must accept a connection: `8096` on the service's host, or `nas.lan:8096`.
    pub tcp: Vec<Spanned<String>>,
    /// The program that runs its containers; `docker` unless given.
    pub engine: Option<EngineWire>,
}

/// A health endpoint that differs from `https://SERVICE.DOMAIN/health` or from status 200.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthWire {
    /// The endpoint; `https://SERVICE.DOMAIN/health` unless given.
    pub url: Option<Spanned<String>>,
    /// The status codes that mean healthy; `[200]` unless given.
    pub status: Option<Vec<Spanned<u16>>>,
    /// How long one look may take, at most `5m`; `10s` unless given.
    pub timeout: Option<Spanned<String>>,
    /// Whether redirects are followed; `true` unless given. A code in `status` ends them.
    pub follow: Option<bool>,
    /// `true`: any certificate is taken for the right one.
    pub insecure: Option<bool>,
}

/// The limits.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyWire {
    /// Stops, starts and restarts of one service; 2 in `4h` unless given.
    pub restart: Option<BudgetWire>,
    /// Playbooks and charts of one service; 1 in `24h` unless given.
    pub redeployment: Option<BudgetWire>,
    /// An action whose service cannot be told: it draws on a budget of its own (`budget`, unless given), runs (`allow`), or is denied (`deny`).
    pub unresolved: Option<UnresolvedWire>,
    /// An action while the ledger cannot be used: it runs and is reported (`open`, unless given), or is denied (`closed`).
    pub on_failure: Option<OnFailureWire>,
    /// What the tiers `1`, `2` and `3` may do.
    pub tiers: Option<Entries<TierWire>>,
    /// What a session has to prove before it ends.
    pub verify: Option<VerifyWire>,
    /// Commands that nobody runs, beside the defaults; [policy.md](policy.md) tells how they are written.
    pub never: Option<Vec<NeverWire>>,
    /// Folders that hold data, beside the defaults: nobody removes them.
    pub data: Option<Vec<Spanned<String>>>,
    /// Globs of files that the agent does not write, beside the defaults.
    pub protect: Option<Vec<Spanned<PathRuleWire>>>,
    /// Globs of files that the agent does not read, beside the defaults.
    pub secret: Option<Vec<Spanned<PathRuleWire>>>,
    /// What tools of MCP servers do, by their names (`mcp__SERVER__TOOL`), so that they draw on budgets, too.
    pub tools: Option<Entries<ToolRuleWire>>,
    /// Whom sessions may write to, by their mode.
    pub modes: Option<ModesWire>,
    /// Beginnings of URLs that take messages, beside those of the usual chats and of `contacts`.
    pub webhooks: Option<Vec<Spanned<String>>>,
}

/// So many actions per window; what is left out keeps its default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetWire {
    /// How many in a window; 0 denies them all.
    pub limit: Option<u32>,
    /// The length of the sliding window.
    pub window: Option<Spanned<String>>,
}

/// What a tier may do; what is left out keeps its default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierWire {
    /// The model; `haiku`, `sonnet` and `opus` unless given.
    pub model: Option<Spanned<String>>,
    /// The client's tools that exist at this tier; those of MCP servers as `mcp__SERVER` or `mcp__SERVER__TOOL`.
    pub tools: Option<Vec<Spanned<String>>>,
    /// The kinds of action that it may take.
    pub allow: Option<Vec<KindWire>>,
    /// Beginnings of commands that it never runs, beside those that follow from `allow`.
    #[serde(default)]
    pub deny: Vec<Spanned<String>>,
    /// How long a session may run; `30m`, `45m` and `1h` unless given.
    pub deadline: Option<Spanned<String>>,
    /// A prompt file in the place of the rendered one.
    pub prompt: Option<Spanned<String>>,
}

/// A map whose keys are names: their order and their places in the file are kept.
#[derive(Debug)]
pub struct Entries<T>(pub Vec<(Spanned<String>, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}
