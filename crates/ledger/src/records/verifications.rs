//! The services that a session acted on, and the verifications before its end.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::engine::{Connection, Result, insert, params};
use crate::file::database::Change;
use crate::time;

pub(crate) const REMEDIED: &str = "SELECT service, settled_at, host, 1 FROM hook_actions
     WHERE session_id = ?1 AND state IN ('done', 'failed', 'unknown') ORDER BY id";

pub(crate) const RECORDED: &str =
    "SELECT service, timestamp, NULL, by_hand FROM recorded_actions JOIN cooldown_actions ON id = action_id
     WHERE recorded_actions.session_id = ?1 ORDER BY action_id DESC LIMIT 1000";

pub(crate) const VERIFICATIONS: &str =
    "SELECT outcome, actions, at FROM verifications WHERE session_id = ?1 ORDER BY id";

/// The actions of a session on services.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionActions {
    /// Each service that it acted on, successfully or not.
    pub services: BTreeMap<String, Acted>,
    /// The number of actions. It never decreases.
    pub actions: usize,
}

impl SessionActions {
    /// The service of one more action.
    pub(super) fn on(&mut self, service: String, at: DateTime<Utc>) -> &mut Acted {
        self.actions += 1;
        let acted = self.services.entry(service).or_insert(Acted { last: at, hosts: vec![] });
        acted.last = acted.last.max(at);
        acted
    }
}

/// When and where a session acted on a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acted {
    /// The time of the last action.
    pub last: DateTime<Utc>,
    /// The hosts of the actions, each once, in their order; `None` for this machine, and where it is not recorded.
    pub hosts: Vec<Option<String>>,
}

impl Acted {
    /// Adds an action.
    pub fn add(&mut self, at: DateTime<Utc>, host: Option<String>) {
        self.last = self.last.max(at);
        if !self.hosts.contains(&host) {
            self.hosts.push(host);
        }
    }
}

opsctl_policy::words! {
    /// The result of the verification before a session ends.
    pub enum VerificationResult {
        /// All services were healthy, or could not be checked.
        Healthy = "healthy",
        /// One service was unhealthy; the stop was blocked.
        Unhealthy = "unhealthy",
        /// One service was still unhealthy after the last attempt; the session was allowed to end.
        GivenUp = "given-up",
        /// The verifier of a model found nothing unhealthy.
        Confirmed = "confirmed",
        /// The verifier of a model objected; the session went on.
        Objected = "objected",
        /// The stop was blocked for another reason, such as a request for a report.
        Reminded = "reminded",
    }
}

/// The verifications of a session so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerificationState {
    /// How often the stop was blocked since the last healthy verification, and how often the verifier of a model objected.
    pub attempts: u32,
    /// The result of the last verification.
    pub last: Option<VerificationResult>,
    /// The number of the session's actions when the verifier of a model last found nothing unhealthy.
    pub confirmed_actions: Option<usize>,
    /// The number of the session's actions at the last verification that allowed it to end.
    pub settled_actions: Option<usize>,
    /// The time of that verification.
    pub settled_at: Option<DateTime<Utc>>,
}

impl Change<'_> {
    /// Records the result of a verification. `actions` is the number of the session's actions that it covered.
    pub fn note_verification(
        &self,
        session: &str,
        outcome: VerificationResult,
        actions: usize,
        now: DateTime<Utc>,
    ) -> Result<()> {
        insert!(self.run into verifications {
            session_id: session, at: time::write(now), outcome: outcome.as_str(),
            actions: i64::try_from(actions).unwrap_or(i64::MAX), agent: self.agent()
        })
    }
}

/// Verifications are read in the transaction that adds one, too, so that two concurrent ones do not count as one.
impl Connection {
    /// The settled actions of the session. Reservations are not included.
    pub fn session_actions(&self, session: &str) -> Result<SessionActions> {
        let mut acted = SessionActions::default();
        // An action that was recorded by hand has no row of a hook.
        for sql in [REMEDIED, RECORDED] {
            self.query(sql, params![session], |row| {
                // Columns of other writers may have any type.
                let at = row.time(1).ok().flatten().unwrap_or(DateTime::UNIX_EPOCH);
                let Ok(service) = row.get(0) else {
                    acted.actions += 1;
                    return Ok(());
                };
                let on = acted.on(service, at);
                // The row of a hook has the host of an action that it has recorded, too.
                if row.get::<i64>(3)? != 0 {
                    on.add(at, row.get(2).ok().flatten());
                }
                Ok(())
            })?;
        }
        Ok(acted)
    }

    /// The verifications of the session so far.
    pub fn verification_state(&self, session: &str) -> Result<VerificationState> {
        let mut state = VerificationState::default();
        let (mut blocked, mut objected) = (0, 0);
        self.query(VERIFICATIONS, params![session], |row| {
            state.last = VerificationResult::named(&row.get::<String>(0)?);
            let actions = Some(usize::try_from(row.get::<i64>(1)?).unwrap_or_default());
            match state.last {
                Some(VerificationResult::Healthy) => blocked = 0,
                Some(VerificationResult::GivenUp) => {}
                Some(VerificationResult::Reminded) => return Ok(()),
                Some(VerificationResult::Confirmed) => {
                    state.confirmed_actions = actions;
                    return Ok(());
                }
                Some(VerificationResult::Objected) => {
                    objected += 1;
                    return Ok(());
                }
                Some(VerificationResult::Unhealthy) | None => {
                    blocked += 1;
                    return Ok(());
                }
            }
            state.settled_actions = actions;
            state.settled_at = row.time(2)?;
            Ok(())
        })?;
        Ok(VerificationState { attempts: blocked + objected, ..state })
    }
}
