//! Checks a service with a command of the operator's own.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::finding::{Finding, Looked, State};
use super::programs::{CONNECT_TIMEOUT, Rights, Way, Why, not_run, run};
use opsctl_policy::model::installation::checks::CommandCheck;

/// Limits concurrent commands, so that slow ones do not delay the checks of containers and units.
static TURNS: Semaphore = Semaphore::const_new(4);

/// The least time before the deadline in which a command is started.
const LAST_START: Duration = Duration::from_millis(100);

/// Runs the command and compares its exit code.
pub async fn look(check: &CommandCheck, way: &Way, ends: Instant) -> Looked {
    let Ok(_turn) = timeout_at(ends - LAST_START, TURNS.acquire()).await else {
        return Err(Finding::new(State::Unknown, "no time was left to run it"));
    };
    let limit = check.timeout.duration();
    let said = run(&check.command, Rights::Own, way, limit).await.map_err(|not_run| {
        // ssh has reached the host by then.
        let is_reached = way.ssh.is_none() || limit > CONNECT_TIMEOUT;
        if not_run.why == Why::Late && is_reached {
            Finding::new(State::Timeout, "it did not end in time")
        } else {
            not_run.finding(way)
        }
    })?;
    let expected = i32::from(check.expect);
    if said.code == Some(expected) {
        return Ok(Finding::new(State::Healthy, format!("its exit code is {expected}")));
    }
    let program = check.command.first().map_or("", String::as_str);
    Err(not_run(&said, program, way).unwrap_or_else(|| {
        let how = match said.code {
            Some(code) => format!("its exit code is {code}, not {expected}"),
            None => "a signal ended it".to_owned(),
        };
        Finding::new(State::WrongExitCode, how + &said.reason())
    }))
}
