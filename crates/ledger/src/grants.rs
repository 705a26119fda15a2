//! Budgets that a person has given in advance, and the actions that used them.

use chrono::{DateTime, Utc};

use super::call_id::CallId;
use super::database::{Change, Ledger};
use super::engine;
use super::engine::{Connection, Row, ToSql, params};
use super::error::LedgerError;
use super::{migrate, time};
use crate::model::question::Grant;
use crate::policy::decide::BudgetKey;

/// A use counts unless its reservation was released, or expired without being settled.
const COLUMNS: &str = "SELECT id, service, kind, count,
         (SELECT count(*) FROM grant_uses LEFT JOIN hook_actions ON hook_actions.id = action_id
          WHERE grant_id = grants.id AND (state IS NULL OR state IN ('done', 'failed')
              OR (state = 'reserved' AND hook_actions.expires_at > ?1))),
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
        let insert = || {
            self.transaction.query_row(
                "INSERT INTO grants (service, kind, count, granted_by, granted_at, expires_at, note, signature)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '') RETURNING id",
                params![
                    grant.service,
                    grant.kind,
                    grant.count,
                    grant.by,
                    time::write(grant.at),
                    time::write(grant.expires_at),
                    grant.note,
                ],
                |row| row.get(0),
            )
        };
        let id = insert().map_err(|cause| self.error(cause))?;
        let mut grant = Grant { id, ..grant };
        grant.signature = sign(&grant)?;
        self.transaction
            .execute("UPDATE grants SET signature = ?2 WHERE id = ?1", params![id, grant.signature])
            .map_err(|cause| self.error(cause))?;
        Ok(grant)
    }

    /// The unexpired grants of a budget, the one that expires first first. Their signatures are not verified.
    pub fn grants_of(&self, key: &BudgetKey, now: DateTime<Utc>) -> Result<Vec<Grant>, LedgerError> {
        let look = || {
            let sql = format!(
                "{COLUMNS} WHERE service = ?2 AND kind = ?3 AND expires_at > ?1 ORDER BY expires_at, id"
            );
            read(&self.transaction, &sql, params![time::write(now), key.service, key.kind])
        };
        look().map_err(|cause| self.error(cause))
    }

    /// Records that the last `count` reservations of a call in a budget use these grants, each as far as stated.
    pub fn use_grants(
        &self,
        call: CallId<'_>,
        key: &BudgetKey,
        uses: &[(i64, u32)],
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        let note = || -> engine::Result<()> {
            let mut actions: Vec<i64> = self
                .transaction
                .prepare(RESERVED)?
                .query_map(params![call.session, call.tool_use, key.service, key.kind], |row| row.get(0))?
                .collect::<engine::Result<_>>()?;
            for (grant, count) in uses {
                for action in actions.drain(..actions.len().min(*count as usize)) {
                    self.transaction.run(
                        "INSERT INTO grant_uses (grant_id, action_id, used_at) VALUES (?1, ?2, ?3)
                         ON CONFLICT DO NOTHING",
                        params![grant, action, time::write(now)],
                    )?;
                }
            }
            Ok(())
        };
        note().map_err(|cause| self.error(cause))
    }
}

impl Ledger {
    /// The unexpired grants, the one that expires first first; none in a ledger of an older release. Their signatures are
    /// not verified.
    pub fn grants(&self, now: DateTime<Utc>) -> Result<Vec<Grant>, LedgerError> {
        let look = || {
            if !migrate::is_latest(&self.connection)? {
                return Ok(vec![]);
            }
            let sql = format!("{COLUMNS} WHERE expires_at > ?1 ORDER BY expires_at, id");
            read(&self.connection, &sql, params![time::write(now)])
        };
        look().map_err(|cause| self.error(cause))
    }
}

fn read(connection: &Connection, sql: &str, values: &[&dyn ToSql]) -> engine::Result<Vec<Grant>> {
    connection.prepare(sql)?.query_map(values, grant)?.collect()
}

fn grant(row: &Row<'_>) -> engine::Result<Grant> {
    let at = |column| row.get::<String>(column).map(|text| time::read(&text).unwrap_or_default());
    Ok(Grant {
        id: row.get(0)?,
        service: row.get(1)?,
        kind: row.get(2)?,
        count: row.get(3)?,
        used: row.get(4)?,
        by: row.get(5)?,
        at: at(6)?,
        expires_at: at(7)?,
        note: row.get(8)?,
        signature: row.get(9)?,
    })
}
