//! Budgets that a person has given in advance, and the actions that used them.

use chrono::{DateTime, Utc};

use crate::call_id::CallId;
use crate::engine::{LedgerError, Result, Row, from_row, insert, params};
use crate::file::database::{Change, Ledger};
use crate::time;
use opsctl_policy::decide::BudgetKey;
use opsctl_policy::model::records::question::Grant;

/// A use counts unless its reservation was released.
const COLUMNS: &str = "SELECT id, service, kind, count,
         (SELECT count(*) FROM grant_uses LEFT JOIN hook_actions ON hook_actions.id = action_id
          WHERE grant_id = grants.id AND (state IS NULL OR state <> 'released')),
         granted_by, granted_at, expires_at, note, signature
     FROM grants";

/// The reservations of a call in a budget, the last ones first.
const RESERVED: &str = "SELECT id FROM hook_actions
     WHERE session_id IS ?1 AND tool_use_id IS ?2 AND service = ?3 AND kind = ?4 AND counts AND state = 'reserved'
     ORDER BY id DESC";

impl Change<'_> {
    /// Stores a grant. `sign` gets the grant with its number, and returns the signature.
    pub fn add_grant<E: From<LedgerError>>(
        &self,
        grant: Grant,
        sign: impl FnOnce(&Grant) -> Result<String, E>,
    ) -> Result<Grant, E> {
        let id = insert!(self.add into grants {
            service: grant.service, kind: grant.kind, count: grant.count, granted_by: grant.by,
            granted_at: time::write(grant.at), expires_at: time::write(grant.expires_at), note: grant.note, signature: ""
        })?;
        let mut grant = Grant { id, ..grant };
        grant.signature = sign(&grant)?;
        self.execute("UPDATE grants SET signature = ?2 WHERE id = ?1", params![id, grant.signature])?;
        Ok(grant)
    }

    /// The unexpired grants of a budget, the one that expires first first. Their signatures are not verified.
    pub fn grants_of(&self, key: &BudgetKey, now: DateTime<Utc>) -> Result<Vec<Grant>> {
        let sql =
            format!("{COLUMNS} WHERE service = ?2 AND kind = ?3 AND expires_at > ?1 ORDER BY expires_at, id");
        self.query(&sql, params![time::write(now), key.service, key.kind], grant)
    }

    /// Records that the last `count` reservations of a call in a budget use these grants, each as far as stated.
    pub fn use_grants(
        &self,
        call: CallId<'_>,
        key: &BudgetKey,
        uses: &[(i64, u32)],
        now: DateTime<Utc>,
    ) -> Result<()> {
        let of_call = params![call.session, call.tool_use, key.service, key.kind];
        let mut actions: Vec<i64> = self.query(RESERVED, of_call, |row| row.get(0))?;
        for (grant, count) in uses {
            for action in actions.drain(..actions.len().min(*count as usize)) {
                insert!(self.run into grant_uses {
                    grant_id: grant, action_id: action, used_at: time::write(now)
                }, "ON CONFLICT DO NOTHING")?;
            }
        }
        Ok(())
    }
}

impl Ledger {
    /// The unexpired grants, the one that expires first first. Their signatures are not verified.
    pub fn grants(&self, now: DateTime<Utc>) -> Result<Vec<Grant>> {
        let sql = format!("{COLUMNS} WHERE expires_at > ?1 ORDER BY expires_at, id");
        self.query(&sql, params![time::write(now)], grant)
    }
}

fn grant(row: &Row<'_>) -> Result<Grant> {
    Ok(from_row!(row => Grant {
        id, service, kind, count, used, by, at: moment, expires_at: moment, note, signature
    }))
}
