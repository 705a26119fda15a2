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
    ledger.agent = started.agent.or(ledger.agent);
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

    fn started(processes: &[(bool, &str)]) -> Started {
        Started::of(processes.iter().map(|(is_client, environ)| (*is_client, environ.as_bytes().to_vec())))
    }

    #[test]
    fn the_lowest_tier_of_all_processes_counts() {
        let tier = |processes: &[(bool, &str)]| started(processes).tier;
        assert_eq!(
            tier(&[(true, "A=1\0CLAUDEOPS_TIER=3\0"), (false, "CLAUDEOPS_TIER=2\0B=2")]),
            Some(Tier::Remediate)
        );
        assert_eq!(tier(&[(true, "CLAUDEOPS_TIER=nine\0")]), Some(Tier::Observe));
        assert_eq!(tier(&[(true, "CLAUDEOPS_TIER=\0"), (false, "XCLAUDEOPS_TIER=1\0")]), None);
    }

    #[test]
    fn one_process_that_was_started_for_a_dry_run_is_enough() {
        assert!(started(&[(true, ""), (false, "CLAUDEOPS_DRY_RUN=true\0")]).dry_run);
        assert!(!started(&[(true, "CLAUDEOPS_DRY_RUN=false\0")]).dry_run);
    }

    #[test]
    fn the_guard_of_the_farthest_process_is_in_force() {
        let guard = |processes: &[(bool, &str)]| started(processes).guard.map(|guard| guard.to_string());
        let (own, others) = ("CLAUDEOPS_GUARD=unix:/guard/a\0", "CLAUDEOPS_GUARD=unix:/tmp/b\0");
        assert_eq!(
            guard(&[(true, others), (false, "A=1\0"), (false, own), (false, "")]).as_deref(),
            Some("unix:/guard/a")
        );
        assert_eq!(guard(&[(true, "CLAUDEOPS_GUARD=\0")]), None);
    }

    #[test]
    fn the_agent_of_the_farthest_process_is_in_force() {
        let agent = |processes: &[(bool, &str)]| started(processes).agent;
        let processes =
            [(true, "CLAUDEOPS_AGENT=pie\0"), (false, "CLAUDEOPS_AGENT= nas\0"), (false, "A=1\0")];
        assert_eq!(agent(&processes).as_deref(), Some("nas"));
        assert_eq!(agent(&[(true, "CLAUDEOPS_AGENT=\0")]), None);
    }

    #[test]
    fn only_a_client_that_was_started_without_a_tier_gets_the_rendered_one_as_its_limit() {
        assert!(started(&[(true, "A=1\0")]).client_without_tier);
        for other in [(true, "CLAUDEOPS_TIER=2\0"), (false, "A=1\0"), (true, "")] {
            assert!(!started(&[other]).client_without_tier, "{other:?}");
        }
    }
}
