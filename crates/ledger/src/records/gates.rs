//! What a gate needs of the calls of hooks: a request that follows from a call is counted once.

use chrono::{DateTime, Utc};

use crate::engine::{Result, params};
use crate::file::database::Change;
use crate::time;
use opsctl_policy::decide::BudgetKey;

/// The beginning of the ids of calls that a gate has judged itself.
pub const GATE_CALL: &str = "gate-";

/// Takes the oldest open reservation of a hook that no request has used.
const CLAIM: &str = "UPDATE hook_actions SET gate = ?3 WHERE id = (
         SELECT id FROM hook_actions
         WHERE service = ?1 AND kind = ?2 AND state = 'reserved' AND counts AND gate IS NULL AND reserved_at >= ?4
             AND coalesce(tool_use_id, '') NOT LIKE 'gate-%'
         ORDER BY id LIMIT 1)";

const APPROVED: &str = "SELECT command FROM questions WHERE session_id = ?1 AND used_at >= ?2";

impl Change<'_> {
    /// Uses an open reservation of a hook since `since` for the request `by`. `false` if there is none left: each is used once.
    pub fn claim(&self, key: &BudgetKey, by: &str, since: DateTime<Utc>) -> Result<bool> {
        let taken = self.execute(CLAIM, params![key.service, key.kind, by, time::write(since)])?;
        Ok(taken == 1)
    }

    /// The calls of a session that a person has approved and that have run since `since`.
    pub fn approved_commands(&self, session: &str, since: DateTime<Utc>) -> Result<Vec<String>> {
        self.query(APPROVED, params![session, time::write(since)], |row| row.get(0))
    }
}
