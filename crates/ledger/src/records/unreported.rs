//! Reservations whose result no hook has reported: the client refused the call, or the session was cut off while it ran.

use chrono::{DateTime, Utc};

use super::verifications::SessionActions;
use crate::call_id::CallId;
use crate::cooldown::usage::known_kind;
use crate::engine::{Result, Row, params};
use crate::file::database::{Change, Ledger};
use crate::time;
use opsctl_policy::decide::BudgetKey;
use opsctl_policy::model::records::event::ToolResult;
use opsctl_policy::model::rights::policy::Tier;

/// Open reservations: of a session, of one of its calls, until a time, where each is stated.
pub(crate) const OPEN: &str = "SELECT id, service, kind, verb, host, counts, reserved_at, session_id, agent,
         (SELECT tier FROM hook_sessions WHERE hook_sessions.session_id = hook_actions.session_id)
     FROM hook_actions WHERE state = 'reserved' AND (session_id = ?1 OR ?1 IS NULL)
         AND (tool_use_id = ?2 OR ?2 IS NULL) AND (reserved_at <= ?3 OR ?3 IS NULL) ORDER BY id";

/// Whether a call has open reservations.
pub(crate) const OPEN_OF_CALL: &str =
    "SELECT 1 FROM hook_actions WHERE session_id = ?1 AND tool_use_id = ?2 AND state = 'reserved' LIMIT 1";

/// Whether a session has open reservations.
pub(crate) const OPEN_OF_SESSION: &str =
    "SELECT 1 FROM hook_actions WHERE session_id = ?1 AND state = 'reserved' LIMIT 1";

/// Whether a reservation is open since before a time.
pub(crate) const OVERDUE: &str =
    "SELECT 1 FROM hook_actions WHERE state = 'reserved' AND reserved_at <= ?1 LIMIT 1";

/// The actions of unknown outcome after a time, of this agent, whose service has not been checked since.
pub(crate) const UNCHECKED: &str = "SELECT service, settled_at, host FROM hook_actions
     WHERE state = 'unknown' AND reserved_at >= ?1 AND agent = ?2 AND NOT EXISTS (
         SELECT 1 FROM service_checks WHERE service_checks.service = hook_actions.service AND at >= settled_at)";

/// Which open reservations are meant.
#[derive(Debug, Clone, Copy)]
pub enum Open<'a> {
    /// Those of a session.
    OfSession(&'a str),
    /// Those of a session that are not later than a time.
    Until(&'a str, DateTime<Utc>),
    /// Those of a call of a session.
    OfCall(&'a str, &'a str),
    /// Those of all sessions that are not later than a time.
    Before(DateTime<Utc>),
}

/// An action that ran, and whose outcome is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownOutcome {
    /// Its budget.
    pub key: BudgetKey,
    /// Whether it counts.
    pub counts: bool,
    /// What was done, such as `restart`.
    pub verb: String,
    /// The host; `None` for this machine, or if unknown.
    pub host: Option<String>,
    /// When it was allowed.
    pub at: DateTime<Utc>,
    /// The session.
    pub session: Option<String>,
    id: i64,
    agent: Option<String>,
    tier: Option<u8>,
}

impl Change<'_> {
    /// Those of these calls that have open reservations.
    pub fn open_calls(&self, session: &str, calls: &[String]) -> Result<Vec<String>> {
        let mut open = Vec::new();
        for call in calls {
            if self.exists(OPEN_OF_CALL, params![session, call])? {
                open.push(call.clone());
            }
        }
        Ok(open)
    }

    /// Releases what was reserved for calls that the client has refused, unless a request has passed a gate with it. Returns how many reservations there were.
    pub fn release_calls(&self, session: &str, calls: &[String]) -> Result<usize> {
        let sql = "UPDATE hook_actions SET state = 'released' WHERE session_id = ?1 AND tool_use_id = ?2 AND state = 'reserved' AND gate IS NULL";
        calls.iter().map(|call| self.execute(sql, params![session, call])).sum()
    }

    /// Counts open reservations as actions that ran and whose outcome is not known: they may have run.
    /// Each counts from the time at which it was allowed. `why` is recorded as the error.
    pub fn settle_unknown(
        &self,
        open: Open<'_>,
        why: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<UnknownOutcome>> {
        let (session, call, until) = match open {
            Open::OfSession(session) => (Some(session), None, None),
            Open::Until(session, until) => (Some(session), None, Some(until)),
            Open::OfCall(session, call) => (Some(session), Some(call), None),
            Open::Before(until) => (None, None, Some(until)),
        };
        let found = self.query(OPEN, params![session, call, until.map(time::write)], |row| read(row, now))?;
        let result = ToolResult::Failed(why.to_owned());
        for UnknownOutcome { key, counts, at, session, id, agent, tier, .. } in &found {
            let sql = "UPDATE hook_actions SET state = 'unknown', settled_at = ?2 WHERE id = ?1";
            self.run(sql, params![id, time::write(now)])?;
            if *counts {
                let call = CallId { session: session.as_deref(), tool_use: None };
                let agent = agent.clone().unwrap_or_else(|| self.agent());
                let tier = tier.and_then(Tier::from_number);
                self.insert_cooldown_action(call, (key, &agent), &result, tier, *at, false)?;
            }
        }
        Ok(found)
    }
}

impl Ledger {
    /// Whether a session has open reservations.
    pub fn has_open(&self, session: &str) -> Result<bool> {
        self.exists(OPEN_OF_SESSION, params![session])
    }

    /// The actions of this agent since a time whose outcome is unknown, and whose services have not been checked since.
    pub fn unchecked_actions(&self, since: DateTime<Utc>) -> Result<SessionActions> {
        let mut acted = SessionActions::default();
        self.query(UNCHECKED, params![time::write(since), self.agent()], |row| {
            let at = row.time(1)?.unwrap_or(since);
            acted.on(row.get(0)?, at).add(at, row.get(2)?);
            Ok(())
        })?;
        Ok(acted)
    }
}

fn read(row: &Row<'_>, now: DateTime<Utc>) -> Result<UnknownOutcome> {
    let kind = known_kind(&row.get::<String>(2)?).unwrap_or("restart");
    Ok(UnknownOutcome {
        id: row.get(0)?,
        key: BudgetKey { service: row.get(1)?, kind },
        verb: row.get(3)?,
        host: row.get(4)?,
        counts: row.get(5)?,
        at: row.time(6)?.unwrap_or(now),
        session: row.get(7)?,
        agent: row.get(8)?,
        tier: row.get(9)?,
    })
}
