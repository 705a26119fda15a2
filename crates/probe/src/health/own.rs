//! Checks a service with a command of the operator's own.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::command::{not_run, run};
use super::finding::{Finding, Looked, State};
use opsctl_policy::model::installation::checks::CommandCheck;

/// Limits concurrent commands, so that slow ones do not delay the checks of containers and units.
static TURNS: Semaphore = Semaphore::const_new(4);

/// The least time before the deadline in which a command is started.
const LAST_START: Duration = Duration::from_millis(100);

/// Runs the command and compares its exit code.
pub async fn look(check: &CommandCheck, ssh: Option<&str>, ends: Instant) -> Looked {
    let Ok(_turn) = timeout_at(ends - LAST_START, TURNS.acquire()).await else {
        return Err(Finding::new(State::Unknown, "no time was left to run it"));
    };
    let words: Vec<&str> = check.command.iter().map(String::as_str).collect();
    let said = run(&words, ssh, check.timeout.duration()).await.map_err(|finding| match finding.state {
        State::Timeout => Finding::new(State::Timeout, "it did not end in time"),
        _ => finding.unknown(),
    })?;
    let expected = i32::from(check.expect);
    if said.code == Some(expected) {
        return Ok(Finding::new(State::Healthy, format!("its exit code is {expected}")));
    }
    Err(not_run(&said, ssh).unwrap_or_else(|| {
        let how = match said.code {
            Some(code) => format!("its exit code is {code}, not {expected}"),
            None => "a signal ended it".to_owned(),
        };
        Finding::new(State::WrongExitCode, how + &said.reason())
    }))
}
