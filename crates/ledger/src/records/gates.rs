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

/// Questions of a session whose approval was used, and has covered no request yet. A person at the terminal signs nothing.
const APPROVED: &str = "SELECT id FROM questions
     WHERE session_id = ?1 AND used_at >= ?2 AND NOT at_terminal AND gate IS NULL ORDER BY id";

impl Change<'_> {
    /// Uses an open reservation of a hook since `since` for the request `by`. `false` if there is none left: each is used once.
    pub fn claim(&self, key: &BudgetKey, by: &str, since: DateTime<Utc>) -> Result<bool> {
        let taken = self.execute(CLAIM, params![key.service, key.kind, by, time::write(since)])?;
        Ok(taken == 1)
    }

    /// The questions of a session whose approval was used since `since` and has covered no request.
    pub fn approved_questions(&self, session: &str, since: DateTime<Utc>) -> Result<Vec<i64>> {
        self.query(APPROVED, params![session, time::write(since)], |row| row.get(0))
    }

    /// Uses an approval for the request `by`. `false` if it has covered one before.
    pub fn cover(&self, question: i64, by: &str) -> Result<bool> {
        let sql = "UPDATE questions SET gate = ?2 WHERE id = ?1 AND gate IS NULL";
        Ok(self.execute(sql, params![question, by])? == 1)
    }
}
