//! Deletes old rows, a few at a time.

use super::counters;
use crate::engine::{Result, params};
use crate::file::database::Change;

/// A table whose old rows are deleted.
pub(super) struct Old {
    /// The table.
    pub table: &'static str,
    /// Its key.
    key: &'static str,
    /// The time of a row.
    at: &'static str,
    /// The tables of rows that belong to one of its rows, and their column of its key.
    parts: &'static [(&'static str, &'static str)],
}

const fn old(table: &'static str, at: &'static str, parts: &'static [(&'static str, &'static str)]) -> Old {
    Old { table, key: "id", at, parts }
}

const fn old_by(
    table: &'static str,
    key: &'static str,
    at: &'static str,
    parts: &'static [(&'static str, &'static str)],
) -> Old {
    Old { table, key, at, parts }
}

/// The tables that grow. Those with the key `id` are read in the order in which their rows were added, the others by time.
pub(super) const TABLES: [Old; 17] = [
    old("events", "created_at", &[("recorded_events", "event_id")]),
    old("cooldown_actions", "timestamp", &[("recorded_actions", "action_id")]),
    old("hook_actions", "reserved_at", &[]),
    old("hook_settled", "settled_at", &[]),
    old("hook_decisions", "at", &[]),
    old("hook_times", "at", &[]),
    old("notices", "created_at", &[("notice_attempts", "notice_id"), ("notice_deliveries", "notice_id")]),
    old("verifications", "at", &[]),
    old("service_checks", "at", &[("verified_checks", "check_id")]),
    old("client_runs", "started_at", &[]),
    old("questions", "asked_at", &[("question_answers", "question_id")]),
    old("grants", "expires_at", &[("grant_uses", "grant_id")]),
    old("api_requests", "at", &[]),
    old("budget_resets", "at", &[]),
    old_by("allowed_requests", "request", "at", &[]),
    old_by("session_reminders", "session_id", "changed_at", &[]),
    old_by(
        "hook_sessions",
        "session_id",
        "last_seen_at",
        &[("hook_calls", "session_id"), ("hook_subagents", "session_id")],
    ),
];

/// What a step has done.
pub(super) struct Deleted {
    /// The number of rows of the table itself.
    pub rows: usize,
    /// The last row that was looked at; `None`: the table has no more rows that can be deleted.
    pub last: Option<i64>,
    /// Whether one of these rows was old.
    pub has_old: bool,
}

impl Change<'_> {
    /// Deletes the rows before `cutoff` among the next `most` rows after the row `after`. What is not counted yet stays.
    pub(super) fn delete_old(&self, old: &Old, cutoff: &str, after: i64, most: u32) -> Result<Deleted> {
        let Old { table, key, at, parts } = old;
        if *key != "id" {
            let chosen =
                format!("(SELECT {key} FROM {table} WHERE {at} < ?1 ORDER BY {at}, {key} LIMIT {most})");
            for (part, column) in *parts {
                self.execute(
                    &format!("DELETE FROM {part} WHERE {}", self.among(column, &chosen)),
                    params![cutoff],
                )?;
            }
            let sql = format!("DELETE FROM {table} WHERE {}", self.among(key, &chosen));
            let rows = self.execute(&sql, params![cutoff])?;
            return Ok(Deleted { rows, last: (rows > 0).then_some(0), has_old: rows > 0 });
        }
        let slice = format!(
            "SELECT max(id), min(CASE WHEN {at} < ?2 THEN 1 ELSE 2 END) FROM
                 (SELECT id, {at} FROM {table} WHERE id > ?1 ORDER BY id LIMIT {most}) AS slice"
        );
        let (last, first): (Option<i64>, Option<i64>) =
            self.query_row(&slice, params![after, cutoff], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let has_old = first == Some(1);
        let Some(last) = last.filter(|_| has_old) else {
            return Ok(Deleted { rows: 0, last, has_old });
        };
        let end = counters::TABLES
            .contains(table)
            .then(|| self.counted_up_to(table))
            .transpose()?
            .map_or(last, |counted| counted.min(last));
        // The last reset of a service determines which of its rows no longer count.
        let kept = if *table == "budget_resets" {
            " AND EXISTS (SELECT 1 FROM budget_resets AS later WHERE later.service = budget_resets.service AND later.id > budget_resets.id)"
        } else {
            ""
        };
        // SQLite counts the ids of these tables itself. Those of the others, and the mark of the ledger, go on from the last row.
        let last_row = if ["events", "service_checks", "questions", "grants", "api_requests"].contains(table)
        {
            String::new()
        } else {
            format!(" AND id < (SELECT max(id) FROM {table})")
        };
        // Only the beginning of the audit is deleted, so that the rest stays a chain.
        let chained = if *table == "hook_decisions" {
            format!(" AND (entry IS NULL OR id <= {})", self.prune_chain(end, cutoff)?)
        } else {
            String::new()
        };
        let which = format!("WHERE id > ?1 AND id <= ?2 AND {at} < ?3{last_row}{kept}{chained}");
        let values = params![after, end, cutoff];
        for (part, column) in *parts {
            let chosen = self.among(column, &format!("(SELECT id FROM {table} {which})"));
            self.execute(&format!("DELETE FROM {part} WHERE {chosen}"), values)?;
        }
        let rows = self.execute(&format!("DELETE FROM {table} {which}"), values)?;
        Ok(Deleted { rows, last: (end == last).then_some(last), has_old })
    }

    /// The condition that a column has one of the few values that a query finds first. A server could otherwise look for the values of
    /// all rows among them.
    fn among(&self, column: &str, chosen: &str) -> String {
        if self.is_server() {
            format!("{column} = ANY (ARRAY {chosen})")
        } else {
            format!("{column} IN {chosen}")
        }
    }
}
