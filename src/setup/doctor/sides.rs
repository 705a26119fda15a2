//! Checks that compare this side with the guard's: what both can check of hosts and services, and the names of agents.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use chrono::Utc;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::check::{Examined, Outcome, failed, joined, warning};
use crate::guard::looks::survey::{self, Look};
use crate::machine::environment::Environment;
use crate::machine::guard_link;
use crate::machine::link::address::Address;
use crate::machine::link::caller::LinkError;
use crate::machine::link::message::{Call, Reply};

/// The name of the check that compares both sides.
pub const CHECK: &str = "guard checks";

/// The answer of the guard to a call of the doctor.
pub fn ask<T: DeserializeOwned>(
    guard: &Address,
    call: Call,
    environment: &Environment,
) -> Result<T, LinkError> {
    match guard_link::call(guard, call, &[], environment, guard_link::QUICK, &mut |_| Value::Null)? {
        Reply::Value(value) => {
            serde_json::from_value(value).map_err(|error| LinkError::Failed(error.to_string()))
        }
        _ => Err(guard_link::unexpected()),
    }
}

/// Checks that no two agents with sessions within the last day use one name.
pub fn agents(examined: &Examined<'_>) -> Outcome {
    let environment = examined.environment;
    let shared = match &environment.guard {
        Some(guard) => ask(guard, Call::Ping, environment).map_err(|error| error.to_string()),
        None => survey::shared_names(&environment.ledger, Utc::now()).map_err(|error| error.to_string()),
    };
    match shared {
        // The check of the ledger reports why.
        Err(why) => Ok(format!("not known: {why}")),
        Ok(shared) if shared.is_empty() => Ok(environment.ledger.agent_name()),
        Ok(shared) => Err(warning(
            format!("sessions of several machines or containers in turn have the name {}", joined(shared)),
            "give each agent a name with CLAUDEOPS_AGENT, and a state volume of its own",
        )),
    }
}

/// Compares the checks of the guard with those of this side: a finding for each reason why they differ.
pub fn checks(examined: &Examined<'_>) -> Vec<Outcome> {
    let Some(guard) = &examined.environment.guard else {
        return vec![Ok("made by this process, as `hosts` and `services` show".to_owned())];
    };
    let inventory = &examined.policy.installation.inventory;
    let (own, of_guard) = thread::scope(|scope| {
        let own = scope.spawn(|| survey::survey(inventory));
        let of_guard = ask::<Vec<Look>>(guard, Call::Survey, examined.environment);
        (own.join(), of_guard)
    });
    let Ok(Ok(own)) = own else {
        return vec![Err(failed("this side cannot make them", "check the limits of this process"))];
    };
    match of_guard {
        Ok(of_guard) => compared(&own, &of_guard),
        Err(error) => vec![Err(warning(error.to_string(), "run `opsctl doctor` on the side of the guard"))],
    }
}

/// A finding for each reason, with the checks that it concerns.
fn compared(own: &[Look], of_guard: &[Look]) -> Vec<Outcome> {
    let by_subject = |looks: &[Look]| -> BTreeMap<String, Look> {
        looks.iter().map(|look| (look.subject.clone(), look.clone())).collect()
    };
    let (own, of_guard) = (by_subject(own), by_subject(of_guard));
    let subjects: BTreeSet<&String> = own.keys().chain(of_guard.keys()).collect();
    let mut differing: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for subject in &subjects {
        if let Some(reason) = difference(own.get(*subject), of_guard.get(*subject)) {
            differing.entry(reason).or_default().push(subject);
        }
    }
    if differing.is_empty() {
        return vec![Ok(format!("the guard finds what this side finds, in {} checks", subjects.len()))];
    }
    let of_reason = |((reason, remedy), subjects): ((String, String), Vec<&str>)| {
        Err(warning(format!("{}: {reason}", joined(subjects)), remedy))
    };
    differing.into_iter().map(of_reason).collect()
}

/// How the results of both sides differ, and the remedy; `None` if they agree.
fn difference(own: Option<&Look>, of_guard: Option<&Look>) -> Option<(String, String)> {
    const OTHER: &str = "give both sides the same hosts.yaml, and build both images again";
    let (Some(own), Some(of_guard)) = (own, of_guard) else {
        let side = if own.is_none() { "this side" } else { "the guard" };
        return Some((format!("is not in hosts.yaml of {side}"), OTHER.to_owned()));
    };
    let reason = format!("the guard finds `{}`, this side `{}`", of_guard.what, own.what);
    let remedy = match (own.healthy, of_guard.healthy) {
        (own, of_guard) if own == of_guard => return None,
        (_, None) => {
            format!("on the guard's side, {}", of_guard.remedy.as_deref().unwrap_or("run `opsctl doctor`"))
        }
        (None, _) => format!("on this side, {}", own.remedy.as_deref().unwrap_or("run `opsctl doctor`")),
        (_, Some(false)) => {
            "check the network and the DNS of the guard's container: verification uses its answer".to_owned()
        }
        (_, Some(true)) => "check the network and the DNS of this container".to_owned(),
    };
    Some((reason, remedy))
}
