//! What became of a call that a person has approved.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::engine::{OptionalExtension as _, Result, params};
use crate::file::database::Ledger;
use crate::file::migrate;
use crate::time;

/// The actions of a call.
const ACTIONS: &str = "SELECT service, host, state, settled_at FROM hook_actions
     WHERE session_id = ?1 AND tool_use_id = ?2 ORDER BY id LIMIT 20";

/// When a call was reported as run.
const SETTLED: &str =
    "SELECT settled_at FROM hook_settled WHERE session_id = ?1 AND tool_use_id = ?2 LIMIT 1";

/// The latest checks of a service.
const CHECKS: &str = "SELECT healthy, at FROM service_checks WHERE service = ?1 ORDER BY id DESC LIMIT 200";

/// The event that was recorded when an action ran.
const EVENT: &str =
    "SELECT message FROM events WHERE created_at = ?1 AND service = ?2 ORDER BY id DESC LIMIT 1";

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CallOutcome {
    /// `reserved`, `done`, `failed`, `unknown` or `released`: the state of its first action.
    pub state: String,
    /// The host; `None` for this machine, or if unknown.
    pub host: Option<String>,
    /// When it was reported as run.
    pub ran_at: Option<DateTime<Utc>>,
    /// The message of the event of its first action.
    pub message: Option<String>,
    /// Whether the service was healthy at the first check after it ran; `None`: it was not checked since.
    pub healthy: Option<bool>,
    /// When the service was checked.
    pub checked_at: Option<DateTime<Utc>>,
}

impl Ledger {
    /// What became of a call of a session; `None` if no hook has recorded it.
    pub fn outcome_of_call(&self, session: &str, call: &str) -> Result<Option<CallOutcome>> {
        type Action = (String, Option<String>, String, Option<DateTime<Utc>>);
        let actions: Vec<Action> = self.query(ACTIONS, params![session, call], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.time(3)?))
        })?;
        let settled =
            self.query_row(SETTLED, params![session, call], |row| row.time(0)).optional()?.flatten();
        let Some((service, host, state, ran_at)) = actions.into_iter().next() else {
            let ran =
                |at| CallOutcome { state: "done".to_owned(), ran_at: Some(at), ..CallOutcome::default() };
            return Ok(settled.map(ran));
        };
        let mut outcome = CallOutcome { state, host, ran_at: ran_at.or(settled), ..CallOutcome::default() };
        let Some(ran_at) = outcome.ran_at else { return Ok(Some(outcome)) };
        let checks: Vec<(bool, Option<DateTime<Utc>>)> =
            self.query(CHECKS, params![service], |row| Ok((row.get(0)?, row.time(1)?)))?;
        let later = checks.into_iter().filter_map(|(healthy, at)| Some((at?, healthy)));
        let first = later.filter(|(at, _)| *at >= ran_at).min();
        (outcome.checked_at, outcome.healthy) = first.unzip();
        if migrate::has_index_on(&self.connection, "events", "created_at")? {
            let event = params![time::write(ran_at), service];
            outcome.message = self.query_row(EVENT, event, |row| row.get(0)).optional()?;
        }
        Ok(Some(outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn states_when_a_call_ran_and_the_first_check_after_it() {
        let (_folder, mut ledger) = fixture::ledger();
        let change = ledger.change().unwrap();
        for sql in [
            "INSERT INTO hook_actions (session_id, tool_use_id, service, kind, verb, host, counts, state, reserved_at, settled_at)
                 VALUES ('s', 'c', 'jellyfin', 'restart', 'restart', 'nas', TRUE, 'done', '2026-03-21T02:45:58Z', '2026-03-21T02:46:00Z')",
            "INSERT INTO events (level, service, message, created_at)
                 VALUES ('warning', 'jellyfin', 'Container restarted: docker restart jellyfin', '2026-03-21T02:46:00Z')",
            "INSERT INTO service_checks (service, healthy, at) VALUES ('jellyfin', FALSE, '2026-03-21T02:40:00Z')",
            "INSERT INTO service_checks (service, healthy, at) VALUES ('jellyfin', TRUE, '2026-03-21T02:46:12Z')",
            "INSERT INTO service_checks (service, healthy, at) VALUES ('jellyfin', FALSE, '2026-03-21T03:00:00Z')",
        ] {
            change.run(sql, params![]).unwrap();
        }
        change.commit().unwrap();
        let outcome = ledger.outcome_of_call("s", "c").unwrap().unwrap();
        assert_eq!((outcome.state.as_str(), outcome.host.as_deref()), ("done", Some("nas")));
        assert_eq!(outcome.ran_at, "2026-03-21T02:46:00Z".parse().ok());
        assert_eq!((outcome.healthy, outcome.checked_at), (Some(true), "2026-03-21T02:46:12Z".parse().ok()));
        assert_eq!(outcome.message.as_deref(), Some("Container restarted: docker restart jellyfin"));
        assert_eq!(ledger.outcome_of_call("s", "other").unwrap(), None);
    }
}
