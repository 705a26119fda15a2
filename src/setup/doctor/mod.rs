//! Checks an installation: one finding, with remedy, for each thing that the guard depends on.

pub mod client;
mod client_settings;
mod cooldown_file;
mod credentials;
mod examined;
mod finding;
pub mod guard_files;
mod guard_process;
pub mod hooks;
mod keys;
mod mcp_servers;
mod network;
mod prompts;
mod state;

pub use examined::Examined;
pub use finding::{Condition, Finding};
use opsctl_policy::model::rights::policy::OnFailure;

type Check = fn(&Examined<'_>) -> Finding;

/// The checks by name, in the order of the findings.
const CHECKS: [(&str, Check); 21] = [
    ("policy", policy),
    ("settings", guard_files::settings),
    ("client settings", client_settings::client_settings),
    ("managed settings", |_| guard_files::managed()),
    ("program", guard_files::program),
    ("hooks", |examined| hooks::finding(examined.hooks)),
    ("mods", |examined| hooks::mods::finding(examined.hooks)),
    ("prompts", prompts::prompts),
    ("mcp servers", mcp_servers::mcp_servers),
    ("permissions", guard_files::permissions),
    ("client", client::client),
    ("credentials", credentials::credentials),
    ("guard", guard_process::guard),
    ("keys", keys::keys),
    ("state folder", state::folder),
    ("ledger", state::ledger),
    ("cooldown file", cooldown_file::cooldown_file),
    ("notifications", network::notifications),
    ("icmp", |_| network::icmp()),
    ("hosts", network::hosts),
    ("services", network::services),
];

/// Checks that start other programs or wait for the network.
const SLOW: [&str; 3] = ["client", "hosts", "services"];

/// The names of the checks.
pub fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.into_iter().map(|(name, _)| name)
}

/// Runs the checks of this name, or all of them.
pub fn examine(examined: &Examined<'_>, only: Option<&str>) -> Vec<Finding> {
    CHECKS
        .into_iter()
        .filter(|(name, _)| only.is_none_or(|only| only == *name))
        .filter(|(name, _)| !examined.quick || !SLOW.contains(name))
        .map(|(_, check)| check(examined))
        .collect()
}

fn policy(examined: &Examined<'_>) -> Finding {
    let installation = &examined.policy.installation;
    if let Some(warning) = examined.warnings.first().map(ToString::to_string) {
        let (what, remedy) = warning.split_once("; ").unwrap_or((&warning, "run `opsctl render`"));
        return Finding::failed("policy", what, remedy);
    }
    let (hosts, services) = (installation.inventory.hosts.len(), installation.inventory.services.len());
    let what = format!("{hosts} hosts, {services} services");
    match installation.policy.on_failure {
        OnFailure::Closed => Finding::ok("policy", what),
        OnFailure::Open => Finding::warning(
            "policy",
            format!("{what}; on_failure is open, so actions run uncounted while the ledger cannot be used"),
            "set `policy: {on_failure: closed}` in hosts.yaml, and run `opsctl render`",
        ),
    }
}
