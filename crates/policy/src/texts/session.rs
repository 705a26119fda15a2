//! What follows from a session's activity: its state, reminders, and whether it is stale.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::model::records::session::{ActivityTimes, ProcessState, Session, State, StatusReminder};

/// The shortest time between two status reminders, and between the start of a session and the first.
pub const REMIND_AFTER: TimeDelta = TimeDelta::minutes(2);

/// The state of a session. It follows from the latest time of each kind of activity, so the order in which they were
/// recorded does not matter.
pub const fn state(times: ActivityTimes) -> State {
    let ActivityTimes { active, idle, ended, tool_running } = times;
    if ended > active {
        State::Ended
    } else if tool_running {
        State::ToolActive
    } else if idle > active {
        State::Idle
    } else {
        State::Active
    }
}

/// Whether a session is to be reminded of its status now.
pub fn reminder_is_due(reminded: StatusReminder, now: DateTime<Utc>) -> bool {
    !reminded.has_status && reminded.at.is_none_or(|at| now - at >= REMIND_AFTER)
}

/// Why a session is considered stale: it did not end cleanly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stale {
    /// Its process is gone, and no hook reported its end.
    Gone,
    /// It showed no activity for too long.
    Silent,
}

/// Whether and why a session is stale. One that waits for a prompt may do so for as long as its process runs.
pub fn stale(
    session: &Session,
    process: ProcessState,
    now: DateTime<Utc>,
    after: TimeDelta,
) -> Option<Stale> {
    let silent = session.last_seen.is_none_or(|seen| now - seen >= after);
    match (session.state, process) {
        (State::Ended, _) | (State::Idle, ProcessState::Running) => None,
        (_, ProcessState::Gone) => Some(Stale::Gone),
        (_, ProcessState::Running | ProcessState::Unknown) => silent.then_some(Stale::Silent),
    }
}
