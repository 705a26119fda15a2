//! What follows from the signs of a session.

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::session::{Life, Reminded, Session, Signs, State};

/// A session without a status is reminded no more often than this, and not before.
pub const REMIND_AFTER: TimeDelta = TimeDelta::minutes(2);

/// What a session is doing. Each sign is the latest of its kind, so it is no matter in which order they were written.
pub const fn state(signs: Signs) -> State {
    let Signs { awake, idle, over, tool_runs } = signs;
    if over > awake {
        State::Ended
    } else if tool_runs {
        State::ToolActive
    } else if idle > awake {
        State::Idle
    } else {
        State::Active
    }
}

/// Whether a session is to be reminded of its status now.
pub fn reminder_is_due(reminded: Reminded, now: DateTime<Utc>) -> bool {
    !reminded.has_status && reminded.at.is_none_or(|at| now - at >= REMIND_AFTER)
}

/// Why a session is taken for one that will give no further sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stale {
    /// Its process is gone, and nothing told of its end.
    Gone,
    /// There was no sign of it for too long.
    Silent,
}

/// Whether a session has ended without a word. One that waits for a prompt may do so for as long as its process runs.
pub fn stale(session: &Session, life: Life, now: DateTime<Utc>, after: TimeDelta) -> Option<Stale> {
    let silent = session.last_seen.is_none_or(|seen| now - seen >= after);
    match (session.state, life) {
        (State::Ended, _) | (State::Idle, Life::Runs) => None,
        (_, Life::Gone) => Some(Stale::Gone),
        (_, Life::Runs | Life::Unknown) => silent.then_some(Stale::Silent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_sign_decides_and_a_tool_that_runs_before_it_all_but_the_end() {
        let (none, runs) = (false, true);
        for (awake, idle, over, tool_runs, expected) in [
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
            let signs = Signs { awake, idle, over, tool_runs };
            assert_eq!(state(signs), expected, "{signs:?}");
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
            assert_eq!(reminder_is_due(Reminded { has_status, at }, now), due, "{has_status} {seconds:?}");
        }
    }
}
