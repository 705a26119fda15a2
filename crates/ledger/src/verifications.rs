//! The services that a session acted on, and the verifications before its end.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::database::{Change, Ledger};
use super::engine;
use super::engine::{Connection, params};
use super::error::LedgerError;
use super::{migrate, time};

pub(super) const REMEDIED: &str = "SELECT service, settled_at FROM hook_actions
     WHERE session_id = ?1 AND state IN ('done', 'failed') ORDER BY id";

pub(super) const RECORDED: &str =
    "SELECT service, timestamp FROM recorded_actions JOIN cooldown_actions ON id = action_id
     WHERE recorded_actions.session_id = ?1 ORDER BY action_id DESC LIMIT 1000";

pub(super) const VERIFICATIONS: &str =
    "SELECT outcome, actions, at FROM verifications WHERE session_id = ?1 ORDER BY id";

/// The actions of a session on services.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionActions {
    /// Each service that it acted on, successfully or not, with the time of the last action.
    pub services: BTreeMap<String, DateTime<Utc>>,
    /// The number of actions. It never decreases.
    pub actions: usize,
}

/// The result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All services were healthy, or could not be checked.
    Healthy,
    /// One service was unhealthy; the stop was blocked.
    Unhealthy,
    /// One service was still unhealthy after the last attempt; the session was allowed to end.
    GivenUp,
}

impl Outcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
            Self::GivenUp => "given-up",
        }
    }
}

/// The verifications of a session so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerificationState {
    /// How often the stop was blocked since the last healthy verification.
    pub attempts: u32,
    /// The number of the session's actions at the last verification that allowed it to end.
    pub settled_actions: Option<usize>,
    /// The time of that verification.
    pub settled_at: Option<DateTime<Utc>>,
}

impl Ledger {
    /// The settled actions of the session. Reservations are not included.
    pub fn session_actions(&self, session: &str) -> Result<SessionActions, LedgerError> {
        session_actions(&self.connection, session).map_err(|cause| self.error(cause))
    }

    /// The verifications of the session so far.
    pub fn verification_state(&self, session: &str) -> Result<VerificationState, LedgerError> {
        verification_state(&self.connection, session).map_err(|cause| self.error(cause))
    }
}

impl Change<'_> {
    /// The verifications of the session so far, read in this transaction, so that two concurrent verifications do not
    /// count as one.
    pub fn verification_state(&self, session: &str) -> Result<VerificationState, LedgerError> {
        verification_state(&self.transaction, session).map_err(|cause| self.error(cause))
    }

    /// Records the result of a verification. `actions` is the number of the session's actions that it covered.
    pub fn note_verification(
        &self,
        session: &str,
        outcome: Outcome,
        actions: usize,
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        self.transaction
            .run(
                "INSERT INTO verifications (session_id, at, outcome, actions, agent) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    session,
                    time::write(now),
                    outcome.as_str(),
                    i64::try_from(actions).unwrap_or(i64::MAX),
                    self.agent(),
                ],
            )
            .map_err(|cause| self.error(cause))
    }
}

fn session_actions(connection: &Connection, session: &str) -> engine::Result<SessionActions> {
    let mut acted = SessionActions::default();
    if migrate::has_table(connection, "hook_actions")? {
        let mut statement = connection.prepare(REMEDIED)?;
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            acted.actions += 1;
            note(&mut acted, row.get(0)?, row.get::<Option<String>>(1)?.as_deref());
        }
    }
    // An action that was recorded by hand has no row of a hook.
    if migrate::has_table(connection, "recorded_actions")? {
        let mut statement = connection.prepare(RECORDED)?;
        let mut rows = statement.query([session])?;
        let mut recorded = 0;
        while let Some(row) = rows.next()? {
            recorded += 1;
            if let Ok(service) = row.get(0) {
                note(&mut acted, service, row.get::<String>(1).ok().as_deref());
            }
        }
        acted.actions += recorded;
    }
    Ok(acted)
}

fn note(acted: &mut SessionActions, service: String, at: Option<&str>) {
    let at = at.and_then(time::read).unwrap_or(DateTime::UNIX_EPOCH);
    let last = acted.services.entry(service).or_insert(at);
    *last = at.max(*last);
}

fn verification_state(connection: &Connection, session: &str) -> engine::Result<VerificationState> {
    let mut state = VerificationState::default();
    if !migrate::has_table(connection, "verifications")? {
        return Ok(state);
    }
    let mut statement = connection.prepare(VERIFICATIONS)?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let actions = usize::try_from(row.get::<i64>(1)?).unwrap_or_default();
        match row.get::<String>(0)?.as_str() {
            "healthy" => state.attempts = 0,
            "given-up" => {}
            _ => {
                state.attempts += 1;
                continue;
            }
        }
        state.settled_actions = Some(actions);
        state.settled_at = time::read(&row.get::<String>(2)?);
    }
    Ok(state)
}
