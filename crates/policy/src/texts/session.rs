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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_activity_decides_and_a_running_tool_outranks_all_but_the_end() {
        let (none, runs) = (false, true);
        for (active, idle, ended, tool_running, expected) in [
            (0, 0, 0, none, State::Active),
            (1, 0, 0, none, State::Active),
            (1, 0, 0, runs, State::ToolActive),
            (1, 2, 0, none, State::Idle),
            // A subagent in the background.
            (1, 2, 0, runs, State::ToolActive),
            (3, 2, 0, none, State::Active),
            (1, 2, 3, none, State::Ended),
            (1, 2, 3, runs, State::Ended),
            // Resumed.
            (4, 2, 3, none, State::Active),
        ] {
            let times = ActivityTimes { active, idle, ended, tool_running };
            assert_eq!(state(times), expected, "{times:?}");
        }
    }

    #[test]
    fn a_reminder_comes_two_minutes_after_the_last_and_never_beside_a_status() {
        let now = "2026-03-21T14:00:00Z".parse().unwrap();
        for (has_status, seconds, due) in [
            (false, Some(0), false),
            (false, Some(119), false),
            (false, Some(120), true),
            (true, Some(3600), false),
            (false, None, true),
            // A clock that was set back.
            (false, Some(-60), false),
        ] {
            let at = seconds.map(|seconds| now - TimeDelta::seconds(seconds));
            assert_eq!(
                reminder_is_due(StatusReminder { has_status, at }, now),
                due,
                "{has_status} {seconds:?}"
            );
        }
    }
}
