//! The limits with which a session was started.
//!
//! The client applies the `env` of settings files to its hooks, and reads these files again while a session runs. An agent
//! that reaches such a file may therefore set variables of a hook. It cannot change the environment with which the client,
//! or a process above it, was started.

use super::client::client_process::{ancestors, is_client};
use super::environment::{Environment, dry_run, plain_word, tier_named};
use super::installation::header_in_force;
use super::request::Request;
use crate::machine::link::address;
use crate::machine::link::address::Address;
use opsctl_policy::model::rights::policy::Tier;

/// The limits of the processes above this one, when each of them was started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Started {
    /// The lowest tier; `None` if none states a tier.
    tier: Option<Tier>,
    /// Whether one of them was started for a dry run.
    dry_run: bool,
    /// The guard of the farthest process that states one.
    guard: Option<Address>,
    /// The name of the agent that the farthest process states: a budget may be per agent.
    agent: Option<String>,
    /// Whether the client is the nearest of them, and was started without a tier.
    client_without_tier: bool,
}

/// The request with the limits with which the session was started, where those of the request are weaker; `None` where
/// they are not. Reads the environment of each process above this one, up to a rehearsal: the sessions that it starts have
/// limits of their own.
pub fn restored(request: &Request) -> Option<Request> {
    if request.agent.is_remote() {
        // The caller has done so.
        return None;
    }
    let environment = &request.environment;
    let session = ancestors().take_while(|process| !process.is_rehearsal());
    let started = Started::of(session.map(|process| (is_client(&process.name), process.environ())));
    let mut tier = lower(environment.tier, started.tier);
    if started.client_without_tier {
        // A settings file has set the tier, which then cannot exceed the rendered one.
        tier = lower(tier, environment.tier.and(header_in_force(environment).tier));
    }
    let dry_run = environment.dry_run || started.dry_run;
    let guard = started.guard.or_else(|| environment.guard.clone());
    let mut ledger = environment.ledger.clone();
    if let Some(agent) = started.agent {
        ledger = ledger.of_agent(agent);
    }
    let is_weaker = ledger != environment.ledger
        || tier != environment.tier
        || dry_run != environment.dry_run
        || guard != environment.guard;
    is_weaker.then(|| request.with(Environment { ledger, tier, guard, dry_run, ..environment.clone() }))
}

impl Started {
    /// `processes` from the nearest to the farthest: whether it is the client, and its environment.
    fn of(processes: impl Iterator<Item = (bool, Vec<u8>)>) -> Self {
        let mut started = Self::default();
        for (index, (is_client, environ)) in processes.enumerate() {
            let tier = variable(&environ, "CLAUDEOPS_TIER");
            started.client_without_tier |= index == 0 && is_client && !environ.is_empty() && tier.is_none();
            started.tier = lower(started.tier, tier.map(|tier| tier_named(&tier).unwrap_or(Tier::Observe)));
            let guard = variable(&environ, address::VARIABLE).and_then(|guard| Address::read(guard.as_ref()));
            started.guard = guard.or(started.guard);
            started.agent = variable(&environ, "CLAUDEOPS_AGENT")
                .and_then(|name| plain_word(name.trim()))
                .or(started.agent);
            started.dry_run |= dry_run(variable(&environ, "CLAUDEOPS_DRY_RUN").as_deref(), &mut vec![]);
        }
        started
    }
}

/// The lower of two tiers; without a tier, there is no limit.
fn lower(one: Option<Tier>, other: Option<Tier>) -> Option<Tier> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if one.number() <= other.number() { one } else { other }),
        (one, other) => one.or(other),
    }
}

/// The value of a variable in the text of `/proc/PID/environ`; `None` if it is not set or empty.
fn variable(environ: &[u8], name: &str) -> Option<String> {
    let value = environ.split(|byte| *byte == 0).find_map(|entry| {
        entry
            .strip_prefix(name.as_bytes())?
            .strip_prefix(b"=")
            .map(|value| String::from_utf8_lossy(value).into_owned())
    });
    value.filter(|value| !value.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};

    #[test]
    fn limits_follow_from_the_processes_above() {
        type Row = (Vec<Vec<String>>, Map<String, Value>);
        for (processes, limits) in serde_saphyr::from_str::<Vec<Row>>(include_str!("started.yaml")).unwrap() {
            let environs = processes.iter().map(|process| {
                let (name, variables) = process.split_first().unwrap();
                (is_client(name), variables.join("\0").into_bytes())
            });
            let Started { tier, dry_run, guard, agent, client_without_tier } = Started::of(environs);
            let guard = guard.map(|guard| guard.to_string());
            let found = json!({"tier": tier, "dry_run": dry_run, "guard": guard, "agent": agent,
                "client_without_tier": client_without_tier});
            for (key, value) in limits {
                assert_eq!(found[&key], value, "{key}: {processes:?}");
            }
        }
    }
}
