//! Delivers what is [`crate::guard::kept`] because the guard or the ledger could not be used: the next hook or verb that can use it does so. A
//! call counts once.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::forward::{self, Input};
use crate::guard::failures;
use crate::guard::kept::{Line, lines};
use crate::machine::environment::Environment;
use crate::machine::guard_link::{self, QUICK};
use crate::machine::installation;
use crate::machine::link::address::Address;
use crate::machine::link::caller::LinkError;
use crate::machine::link::message::{Call, Reply};
use crate::machine::request::Request;
use opsctl_ledger::Result;
use opsctl_policy::model::rights::policy::Policy;

/// How long a hook delivers what is kept. The rest waits for the next one.
const LONGEST: Duration = Duration::from_secs(1);

/// Sends what is kept to the guard, failures included. An error means that the guard cannot be reached; everything stays
/// kept.
pub fn deliver(guard: &Address, request: &Request) -> Result<(), LinkError> {
    // First what an interrupted process has left, then what has come since.
    for _ in 0..2 {
        failures(guard, request)?;
        each(request, |line| {
            let Line::Report { event, stdin } = line else { return Ok(false) };
            let input = Input { stdin: stdin.as_bytes(), event: event.as_deref() };
            // The session was that of another hook; that of a kept report is in its input.
            let environment = Environment { client_session: None, ..request.environment.clone() };
            forward::serve(guard, input, &request.with(environment), QUICK)?;
            Ok(true)
        })?;
    }
    Ok(())
}

/// Records what is kept in the ledger. If that fails, everything stays kept.
pub fn record(environment: &Environment) {
    if environment.guard.is_some() {
        return;
    }
    // First what an interrupted process has left, then what has come since.
    for _ in 0..2 {
        // The ledger's failure is that of the caller, too, which reports it.
        if !lines(environment).exists() || record_kept(environment).is_err() {
            return;
        }
    }
}

fn record_kept(environment: &Environment) -> Result<()> {
    let began = Instant::now();
    let mut policy: Option<Policy> = None;
    each(environment, |line| {
        if began.elapsed() > LONGEST {
            return Ok(false);
        }
        match line {
            Line::Report { .. } => return Ok(false),
            Line::Ended { ended } => ended.record_late(environment)?,
            Line::Finished { finished, agent } => {
                let policy = policy.get_or_insert_with(|| {
                    installation::in_force(environment, &mut Vec::new()).installation.policy
                });
                // A guard keeps the calls of several agents.
                let mut environment = environment.clone();
                environment.ledger = environment.ledger.of_agent(agent);
                // `cooldown.json` has it since it ran.
                finished.record(policy, &environment, &mut Vec::new())?;
            }
        }
        Ok(true)
    })
}

/// Delivers the lines that are kept, and keeps those that are not delivered: for those, `deliver` returns false, because they
/// are for another recipient, or there is no time left.
fn each<E>(environment: &Environment, mut deliver: impl FnMut(Line) -> Result<bool, E>) -> Result<(), E> {
    let Some(claimed) = lines(environment).claim() else { return Ok(()) };
    let mut left: Vec<&[u8]> = Vec::new();
    let mut failed = None;
    let mut count = 0;
    for text in claimed.text.split(|byte| *byte == b'\n') {
        // A line that was cut off states no call. One of a later release is kept.
        let Ok(value) = serde_json::from_slice::<Value>(text) else { continue };
        count += 1;
        let delivered = match serde_json::from_value(value) {
            Ok(line) if failed.is_none() => deliver(line),
            Ok(_) | Err(_) => Ok(false),
        };
        if !matches!(delivered, Ok(true)) {
            left.push(text);
        }
        failed = failed.or(delivered.err());
    }
    if left.is_empty() {
        claimed.remove();
    } else if left.len() < count {
        // If this fails, lines are delivered once more, and count once.
        let _ = claimed.keep(&left);
    }
    failed.map_or(Ok(()), Err)
}

fn failures(guard: &Address, environment: &Environment) -> Result<(), LinkError> {
    let Some(kept) = failures::take_kept(environment) else { return Ok(()) };
    match guard_link::call(guard, Call::Kept, &kept.text, environment, QUICK, &mut |_| Value::Null)? {
        Reply::Value(_) => {
            kept.remove();
            Ok(())
        }
        _ => Err(guard_link::unexpected()),
    }
}
