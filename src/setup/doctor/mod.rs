//! Checks an installation: one finding, with remedy, for each thing that the guard depends on.

mod check;
pub mod client;
pub mod guard_files;
pub mod hooks;
mod network;
mod prompts;
mod reach;
mod server;
mod sides;
mod state;

pub use check::{Condition, Examined, Finding, paths};
use check::{Outcome, failed, warning};
use opsctl_policy::model::rights::policy::{OnFailure, Tier};
use opsctl_reader::terms::effect::Effect;

/// The check that states whether this is a dry run.
const DRY_RUN: &str = "dry run";

type Check = fn(&Examined<'_>) -> Outcome;
type Checks = fn(&Examined<'_>) -> Vec<Outcome>;

/// The checks by name, in the order of the findings.
const CHECKS: [(&str, Check); 25] = [
    (DRY_RUN, |examined| {
        let is_on = examined.environment.dry_run;
        Ok(if is_on { "nothing is changed" } else { "no" }.to_owned())
    }),
    ("policy", policy),
    ("settings", guard_files::settings),
    ("client settings", client::settings),
    ("managed settings", |_| guard_files::managed()),
    ("program", guard_files::program),
    (hooks::CHECK, |examined| hooks::check(examined.hooks)),
    (hooks::mods::CHECK, |examined| hooks::mods::check(examined.hooks)),
    ("prompts", prompts::prompts),
    ("mcp servers", client::mcp_servers),
    ("permissions", guard_files::permissions),
    ("client", client::client),
    ("credentials", client::credentials),
    ("compose files", state::compose_files),
    ("guard", state::guard),
    ("keys", state::keys),
    ("state folder", state::folder),
    ("ledger", state::ledger),
    ("cooldown file", state::cooldown_file),
    ("attention", state::attention),
    ("agent name", sides::agents),
    ("notifications", network::notifications),
    ("icmp", |_| network::icmp()),
    ("hosts", network::hosts),
    ("services", network::services),
];

/// Checks with several findings.
const SEVERAL: [(&str, Checks); 2] = [(reach::CHECK, reach::checks), (sides::CHECK, sides::checks)];

/// Checks that start other programs or wait for the network.
const SLOW: [&str; 4] = ["client", "hosts", "services", sides::CHECK];

/// The names of the checks.
pub fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.into_iter().map(|(name, _)| name).chain([reach::CHECK, sides::CHECK])
}

/// Runs the checks of this name, or all of them.
pub fn examine(examined: &Examined<'_>, only: Option<&str>) -> Vec<Finding> {
    let is_wanted =
        |name: &str| only.is_none_or(|only| only == name) && !(examined.quick && SLOW.contains(&name));
    let checks = CHECKS.into_iter().filter(|(name, _)| is_wanted(name));
    let mut findings: Vec<Finding> = checks.map(|(name, check)| Finding::of(name, check(examined))).collect();
    for (name, check) in SEVERAL {
        if is_wanted(name) {
            findings.extend(check(examined).into_iter().map(|outcome| Finding::of(name, outcome)));
        }
    }
    findings
}

fn policy(examined: &Examined<'_>) -> Outcome {
    let installation = &examined.policy.installation;
    if let Some(warning) = examined.warnings.first().map(ToString::to_string) {
        let (what, remedy) = warning.split_once("; ").unwrap_or((&warning, "run `opsctl render`"));
        return Err(failed(what, remedy));
    }
    let (hosts, services) = (installation.inventory.hosts.len(), installation.inventory.services.len());
    let plural = |number: usize| if number == 1 { "" } else { "s" };
    let mut what = format!("{hosts} host{}, {services} service{}", plural(hosts), plural(services));
    let opens = |tier: &&Tier| installation.policy.tier(**tier).effects.contains(&Effect::Unknown);
    for tier in Tier::ALL.iter().filter(opens) {
        what += &format!("; tier {} runs what opsctl does not understand (`effects`)", tier.number());
    }
    if installation.policy.on_failure == OnFailure::Closed {
        return Ok(what);
    }
    let uncounted = "on_failure is open, so actions run uncounted while the ledger cannot be used";
    let remedy = "set `policy: {on_failure: closed}` in hosts.yaml, and run `opsctl render`";
    Err(warning(format!("{what}; {uncounted}"), remedy))
}
