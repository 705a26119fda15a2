//! Budgets in the database: what is used, what is reserved, what has been settled.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, OptionalExtension, params};

use super::{Change, Ledger, LedgerError, migrate, time};
use crate::model::event::ToolResult;
use crate::model::policy::{Policy, Tier};
use crate::policy::budget::Usage;
use crate::policy::decide::{BudgetKey, Reservation, Snapshot};

/// A reservation without a word after this long belongs to a command that never ran: the client denied
/// it after the hook, or died.
const RESERVATION_LIFE: TimeDelta = TimeDelta::minutes(10);

/// Which tool call of which session; both may be missing in hand-made input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallId<'a> {
    /// The session.
    pub session: Option<&'a str>,
    /// The tool call.
    pub tool_use: Option<&'a str>,
}

/// What settling a tool call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Its reservations, or its actions if there were none, have been written down; these of them count.
    Now(Vec<BudgetKey>),
    /// It had been settled before; nothing was written.
    Before,
}

impl Change<'_> {
    /// What the budgets have been used for, within the longest window before `now`.
    pub fn usage(
        &self,
        keys: &[BudgetKey],
        policy: &Policy,
        now: DateTime<Utc>,
    ) -> Result<Snapshot, LedgerError> {
        usage_of(&self.transaction, keys, policy, now).map_err(|cause| self.error(cause))
    }

    /// Takes the reservations out of their budgets.
    pub fn reserve(
        &self,
        call: CallId<'_>,
        reservations: &[Reservation],
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        for reservation in reservations {
            self.insert_hook_action(call, reservation, "reserved", now, None)
                .map_err(|cause| self.error(cause))?;
        }
        Ok(())
    }

    /// Writes down that a tool call has run, successfully or not: both count.
    ///
    /// `actions` is what the command holds; it is used when nothing was reserved for the call (the ledger
    /// had failed then, or the hook before was not installed), since what has run has to be known.
    pub fn settle(
        &self,
        call: CallId<'_>,
        actions: &[Reservation],
        result: &ToolResult,
        tier: Option<Tier>,
        now: DateTime<Utc>,
    ) -> Result<Settled, LedgerError> {
        self.try_settle(call, actions, result, tier, now).map_err(|cause| self.error(cause))
    }

    fn try_settle(
        &self,
        call: CallId<'_>,
        actions: &[Reservation],
        result: &ToolResult,
        tier: Option<Tier>,
        now: DateTime<Utc>,
    ) -> rusqlite::Result<Settled> {
        let (state, error) = outcome(result);
        let reserved = self.open_reservations(call, actions)?;
        if reserved.is_empty() {
            if self.already_settled(call)? {
                return Ok(Settled::Before);
            }
            let mut counted = Vec::new();
            for action in actions {
                self.insert_hook_action(call, action, state, now, Some(now))?;
                if action.counts {
                    self.insert_cooldown_action(call, &action.key, state, error, tier, now)?;
                    counted.push(action.key.clone());
                }
            }
            return Ok(Settled::Now(counted));
        }
        let mut counted = Vec::new();
        for (id, key, counts) in reserved {
            self.transaction.execute(
                "UPDATE hook_actions SET state = ?2, settled_at = ?3 WHERE id = ?1",
                params![id, state, time::write(now)],
            )?;
            if counts {
                self.insert_cooldown_action(call, &key, state, error, tier, now)?;
                counted.push(key);
            }
        }
        Ok(Settled::Now(counted))
    }

    /// The reservations of this call that wait to be settled. An expired or released one that turns out to
    /// have run after all is among them: what ran counts.
    fn open_reservations(
        &self,
        call: CallId<'_>,
        actions: &[Reservation],
    ) -> rusqlite::Result<Vec<(i64, BudgetKey, bool)>> {
        const OPEN: &str = "SELECT id, service, kind, counts FROM hook_actions
             WHERE session_id IS ?1 AND tool_use_id IS ?2 AND state IN ('reserved', 'released')";
        let read = |row: &rusqlite::Row<'_>| {
            let kind: String = row.get(2)?;
            let kind = if kind == "redeployment" { "redeployment" } else { "restart" };
            Ok((row.get(0)?, BudgetKey { service: row.get(1)?, kind }, row.get(3)?))
        };
        if call.tool_use.is_some() {
            let mut statement = self.transaction.prepare(OPEN)?;
            return statement.query_map(params![call.session, call.tool_use], read)?.collect();
        }
        // Without an id the oldest open reservation of the same action is the likeliest.
        let mut statement = self
            .transaction
            .prepare(&format!("{OPEN} AND service = ?3 AND kind = ?4 AND verb = ?5 ORDER BY id LIMIT 1"))?;
        let mut found = Vec::new();
        for action in actions {
            let row = statement
                .query_row(
                    params![
                        call.session,
                        call.tool_use,
                        action.key.service,
                        action.key.kind,
                        action.verb.as_str()
                    ],
                    read,
                )
                .optional()?;
            found.extend(row);
        }
        Ok(found)
    }

    fn already_settled(&self, call: CallId<'_>) -> rusqlite::Result<bool> {
        if call.tool_use.is_none() {
            return Ok(false);
        }
        self.transaction
            .query_row(
                "SELECT 1 FROM hook_actions
                 WHERE session_id IS ?1 AND tool_use_id IS ?2 AND state IN ('done', 'failed') LIMIT 1",
                params![call.session, call.tool_use],
                |_| Ok(()),
            )
            .optional()
            .map(|found| found.is_some())
    }

    fn insert_hook_action(
        &self,
        call: CallId<'_>,
        action: &Reservation,
        state: &str,
        now: DateTime<Utc>,
        settled: Option<DateTime<Utc>>,
    ) -> rusqlite::Result<()> {
        self.transaction
            .execute(
                "INSERT INTO hook_actions (session_id, tool_use_id, service, kind, verb, host, counts, state,
                                           reserved_at, expires_at, settled_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    call.session,
                    call.tool_use,
                    action.key.service,
                    action.key.kind,
                    action.verb.as_str(),
                    action.host,
                    action.counts,
                    state,
                    time::write(now),
                    time::write(now + RESERVATION_LIFE),
                    settled.map(time::write),
                ],
            )
            .map(|_| ())
    }

    /// Writes down an action that somebody reports, with no tool call behind it.
    pub fn record(
        &self,
        key: &BudgetKey,
        result: &ToolResult,
        session: Option<&str>,
        tier: Option<Tier>,
        at: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        let (state, error) = outcome(result);
        let call = CallId { session, tool_use: None };
        self.insert_cooldown_action(call, key, state, error, tier, at).map_err(|cause| self.error(cause))
    }

    fn insert_cooldown_action(
        &self,
        call: CallId<'_>,
        key: &BudgetKey,
        state: &str,
        error: Option<&str>,
        tier: Option<Tier>,
        now: DateTime<Utc>,
    ) -> rusqlite::Result<()> {
        self.transaction
            .execute(
                "INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier, error, session_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    key.service,
                    key.kind,
                    time::write(now),
                    state == "done",
                    tier.map_or(0, Tier::number),
                    error,
                    call.session,
                ],
            )
            .map(|_| ())
    }

    /// Gives back what a session reserved and never used.
    pub fn release_session(&self, session: &str) -> Result<usize, LedgerError> {
        self.transaction
            .execute(
                "UPDATE hook_actions SET state = 'released' WHERE session_id = ?1 AND state = 'reserved'",
                [session],
            )
            .map_err(|cause| self.error(cause))
    }

    /// Notes a denial, or a failure that was let through or held against the command.
    pub fn note_decision(
        &self,
        call: CallId<'_>,
        verdict: &str,
        rule: &str,
        actions: &str,
        reason: &str,
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        self.transaction
            .execute(
                "INSERT INTO hook_decisions (at, session_id, tool_use_id, verdict, rule, actions, reason)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![time::write(now), call.session, call.tool_use, verdict, rule, actions, reason],
            )
            .map(|_| ())
            .map_err(|cause| self.error(cause))
    }
}

impl Ledger {
    /// What the budgets have been used for, within the longest window before `now`.
    pub fn usage(
        &self,
        keys: &[BudgetKey],
        policy: &Policy,
        now: DateTime<Utc>,
    ) -> Result<Snapshot, LedgerError> {
        usage_of(&self.connection, keys, policy, now).map_err(|cause| self.error(cause))
    }

    /// What every service has used within the longest window before `now`; `None` when nothing was ever
    /// written down.
    pub fn usage_of_all(&self, policy: &Policy, now: DateTime<Utc>) -> Result<Option<Snapshot>, LedgerError> {
        self.try_usage_of_all(policy, now).map_err(|cause| self.error(cause))
    }

    fn try_usage_of_all(&self, policy: &Policy, now: DateTime<Utc>) -> rusqlite::Result<Option<Snapshot>> {
        let connection = &self.connection;
        let since = now - longest_window(policy);
        let mut keys = BTreeSet::new();
        let mut any = false;
        let mut collect = |sql: &str| -> rusqlite::Result<()> {
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([time::floor(since)])?;
            while let Some(row) = rows.next()? {
                let (service, kind): (String, String) = (row.get(0)?, row.get(1)?);
                if let Some(kind) = known_kind(&kind) {
                    keys.insert(BudgetKey { service, kind });
                }
            }
            Ok(())
        };
        let exists = |table: &str| -> rusqlite::Result<bool> {
            Ok(migrate::has_table(connection, table)?
                && connection
                    .query_row(&format!("SELECT 1 FROM {table} LIMIT 1"), [], |_| Ok(()))
                    .optional()?
                    .is_some())
        };
        if exists("cooldown_actions")? {
            any = true;
            collect("SELECT DISTINCT service, action_type FROM cooldown_actions WHERE timestamp >= ?1")?;
        }
        if exists("hook_actions")? {
            any = true;
            collect(
                "SELECT DISTINCT service, kind FROM hook_actions WHERE state = 'reserved' AND reserved_at >= ?1",
            )?;
        }
        if !any {
            return Ok(None);
        }
        let keys: Vec<BudgetKey> = keys.into_iter().collect();
        usage_of(connection, &keys, policy, now).map(Some)
    }
}

/// The state of a settled action, and the error to keep.
fn outcome(result: &ToolResult) -> (&'static str, Option<&str>) {
    match result {
        ToolResult::Succeeded => ("done", None),
        ToolResult::Failed(why) => ("failed", Some(why)),
    }
}

fn known_kind(kind: &str) -> Option<&'static str> {
    match kind {
        "restart" => Some("restart"),
        "redeployment" => Some("redeployment"),
        _ => None,
    }
}

fn longest_window(policy: &Policy) -> TimeDelta {
    policy.restart.window.delta().max(policy.redeployment.window.delta())
}

fn usage_of(
    connection: &Connection,
    keys: &[BudgetKey],
    policy: &Policy,
    now: DateTime<Utc>,
) -> rusqlite::Result<Snapshot> {
    let since = now - longest_window(policy);
    keys.iter().map(|key| Ok((key.clone(), usage(connection, key, since, now)?))).collect()
}

fn usage(
    connection: &Connection,
    key: &BudgetKey,
    since: DateTime<Utc>,
    now: DateTime<Utc>,
) -> rusqlite::Result<Usage> {
    let mut entries = Vec::new();
    let mut collect = |sql: &str, last: String| -> rusqlite::Result<()> {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query(params![key.service, key.kind, last])?;
        while let Some(row) = rows.next()? {
            // A time that nobody can read spoils only its own row.
            entries.extend(row.get::<_, String>(0).ok().as_deref().and_then(time::read));
        }
        Ok(())
    };
    if migrate::has_table(connection, "cooldown_actions")? {
        collect(
            "SELECT timestamp FROM cooldown_actions WHERE service = ?1 AND action_type = ?2 AND timestamp >= ?3",
            time::floor(since),
        )?;
    }
    let mut stopped = false;
    if migrate::has_table(connection, "hook_actions")? {
        collect(
            "SELECT reserved_at FROM hook_actions
             WHERE service = ?1 AND kind = ?2 AND state = 'reserved' AND counts AND expires_at > ?3",
            time::write(now),
        )?;
        // A reservation that expired may have run: then the service is down, and its start must be free.
        stopped = connection
            .query_row(
                "SELECT verb FROM hook_actions WHERE service = ?1 AND kind = ?2 AND state <> 'released'
                 ORDER BY id DESC LIMIT 1",
                params![key.service, key.kind],
                |row| row.get::<_, String>(0),
            )
            .optional()?
            .is_some_and(|verb| verb == "stop");
    }
    let mut reset = None;
    if migrate::has_table(connection, "budget_resets")? {
        reset = connection
            .query_row(
                "SELECT at FROM budget_resets WHERE service = ?1 ORDER BY id DESC LIMIT 1",
                [&key.service],
                |row| row.get::<_, String>(0),
            )
            .optional()?
            .as_deref()
            .and_then(time::read);
    }
    Ok(Usage { entries, stopped, reset })
}
