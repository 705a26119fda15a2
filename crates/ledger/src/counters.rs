//! Counters for metrics: sums over rows, and over those that `opsctl prune` has deleted.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::database::{Change, Ledger};
use super::engine;
use super::engine::params;
use super::error::LedgerError;
use super::{migrate, time};

/// The upper bounds of the buckets of hook durations, in microseconds. There is one more bucket, without a bound.
pub const BUCKETS: [i64; 12] = [
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000,
];

/// Counts by labels.
pub type Counts = BTreeMap<Vec<String>, u64>;

/// The counters of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// Decisions by verdict and effect.
    pub decisions: Counts,
    /// Denials by the rules that denied, separated by spaces, and effect.
    pub denials: Counts,
    /// Hooks by event and number of the bucket of their duration in [`BUCKETS`].
    pub hooks: Counts,
    /// Durations of hooks by event, in microseconds.
    pub hook_micros: Counts,
    /// Ended sessions by tier and outcome.
    pub sessions: Counts,
    /// Costs of ended sessions by tier, in millionths of a US dollar, as the client estimates them.
    pub session_cost: Counts,
    /// Events by level.
    pub events: Counts,
    /// Forwarded requests by model.
    pub api_requests: Counts,
    /// Their costs by model, in millionths of a US dollar.
    pub api_cost: Counts,
    /// Their tokens by model and kind.
    pub api_tokens: Counts,
}

/// The separator of labels in a row.
const SEPARATOR: char = '\u{1f}';

/// A counter's name in `pruned_counts`, and the rows before ?1 that it counts: labels and count.
fn queries() -> [(&'static str, String); 10] {
    let bucket = |micros: &str| {
        let cases: String = BUCKETS
            .iter()
            .enumerate()
            .map(|(number, bound)| format!("WHEN {micros} <= {bound} THEN {number} "))
            .collect();
        format!("CASE {cases}ELSE {} END", BUCKETS.len())
    };
    let hooks = |labels: &str, value: &str| {
        format!(
            "SELECT {labels}, {value} FROM (
                 SELECT 'pre-tool-use' AS event, micros FROM hook_decisions WHERE at < ?1 AND micros IS NOT NULL
                 UNION ALL SELECT event, micros FROM hook_times WHERE at < ?1) AS hooks GROUP BY 1"
        )
    };
    let tokens = ["input", "output", "cache_write", "cache_write_1h", "cache_read"].map(|kind| {
        format!("SELECT model || '\u{1f}' || '{kind}', sum({kind}_tokens) FROM api_requests WHERE at < ?1 GROUP BY 1")
    });
    [
        (
            "decisions",
            "SELECT verdict || '\u{1f}' || coalesce(effect, CASE actions WHEN '' THEN '' ELSE 'acts' END), count(*) FROM hook_decisions WHERE at < ?1 GROUP BY 1"
                .to_owned(),
        ),
        (
            "denials",
            "SELECT rule || '\u{1f}' || coalesce(effect, CASE actions WHEN '' THEN '' ELSE 'acts' END), count(*) FROM hook_decisions
             WHERE at < ?1 AND verdict = 'deny' GROUP BY 1"
                .to_owned(),
        ),
        ("hooks", hooks(&format!("event || '\u{1f}' || {}", bucket("micros")), "count(*)")),
        ("hook_micros", hooks("event", "sum(micros)")),
        (
            "sessions",
            "SELECT tier || '\u{1f}' || outcome, count(*) FROM client_runs
             WHERE started_at < ?1 AND outcome <> 'running' GROUP BY 1"
                .to_owned(),
        ),
        (
            "session_cost",
            "SELECT CAST(tier AS TEXT), CAST(round(sum(cost_usd) * 1000000) AS BIGINT) FROM client_runs
             WHERE started_at < ?1 AND outcome <> 'running' AND cost_usd IS NOT NULL GROUP BY 1"
                .to_owned(),
        ),
        ("events", "SELECT level, count(*) FROM events WHERE created_at < ?1 GROUP BY 1".to_owned()),
        ("api_requests", "SELECT model, count(*) FROM api_requests WHERE at < ?1 GROUP BY 1".to_owned()),
        ("api_cost", "SELECT model, sum(cost_micros) FROM api_requests WHERE at < ?1 GROUP BY 1".to_owned()),
        ("api_tokens", tokens.join(" UNION ALL ")),
    ]
}

impl Counters {
    fn slot(&mut self, name: &str) -> Option<&mut Counts> {
        Some(match name {
            "decisions" => &mut self.decisions,
            "denials" => &mut self.denials,
            "hooks" => &mut self.hooks,
            "hook_micros" => &mut self.hook_micros,
            "sessions" => &mut self.sessions,
            "session_cost" => &mut self.session_cost,
            "events" => &mut self.events,
            "api_requests" => &mut self.api_requests,
            "api_cost" => &mut self.api_cost,
            "api_tokens" => &mut self.api_tokens,
            _ => return None,
        })
    }

    fn add(&mut self, name: &str, labels: &str, count: i64) {
        let labels = labels.split(SEPARATOR).map(str::to_owned).collect();
        if let Some(counts) = self.slot(name) {
            let sum = counts.entry(labels).or_default();
            *sum = sum.saturating_add(u64::try_from(count).unwrap_or(0));
        }
    }
}

impl Ledger {
    /// All counters since the ledger was created. Reads all rows.
    pub fn counters(&self) -> Result<Counters, LedgerError> {
        self.try_counters().map_err(|cause| self.error(cause))
    }

    fn try_counters(&self) -> engine::Result<Counters> {
        let mut found = Counters::default();
        if !migrate::is_latest(&self.connection)? {
            return Ok(found);
        }
        // Of one moment, so that nothing is counted both as a row and as deleted.
        let reading = self.connection.reading()?;
        for (name, sql) in queries() {
            let mut statement = reading.prepare(&sql)?;
            // After every timestamp.
            let mut rows = statement.query(["9999-12-31T00:00:00Z"])?;
            while let Some(row) = rows.next()? {
                found.add(name, &row.get::<String>(0)?, row.get(1)?);
            }
        }
        let mut statement = reading.prepare("SELECT counter, labels, count FROM pruned_counts")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            found.add(&row.get::<String>(0)?, &row.get::<String>(1)?, row.get(2)?);
        }
        Ok(found)
    }

    /// The number of sessions that are recorded as running.
    pub fn running_sessions(&self) -> Result<u64, LedgerError> {
        let sql = "SELECT count(*) FROM client_runs WHERE outcome = ?1";
        self.count("client_runs", sql, "running")
    }

    /// The number of questions to a person that are neither answered nor expired.
    pub fn open_questions(&self, now: DateTime<Utc>) -> Result<u64, LedgerError> {
        let sql =
            "SELECT count(*) FROM questions WHERE expires_at > ?1 AND used_at IS NULL AND NOT at_terminal
             AND id NOT IN (SELECT question_id FROM question_answers)";
        self.count("questions", sql, &time::write(now))
    }

    /// The result of a query, or 0 without the table.
    fn count(&self, table: &str, sql: &str, value: &str) -> Result<u64, LedgerError> {
        let look = || {
            if !migrate::has_table(&self.connection, table)? {
                return Ok(0);
            }
            self.connection.query_row(sql, [value], |row| row.get::<i64>(0))
        };
        look().map(|count| u64::try_from(count).unwrap_or(0)).map_err(|cause| self.error(cause))
    }
}

impl Change<'_> {
    /// Keeps the counts of rows before `cutoff`, which are about to be deleted.
    pub(super) fn keep_counts(&self, cutoff: &str) -> engine::Result<()> {
        for (name, sql) in queries() {
            let mut statement = self.transaction.prepare(&sql)?;
            let mut rows = statement.query([cutoff])?;
            while let Some(row) = rows.next()? {
                let (labels, count): (String, i64) = (row.get(0)?, row.get(1)?);
                self.transaction.run(
                    "INSERT INTO pruned_counts (counter, labels, count) VALUES (?1, ?2, ?3)
                     ON CONFLICT (counter, labels) DO UPDATE SET count = pruned_counts.count + excluded.count",
                    params![name, labels, count],
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ledger::CallId;
    use crate::ledger::decisions::NewDecision;
    use crate::ledger::fixture;
    use crate::ledger::spend::ApiRequest;
    use crate::model::effect::Effect;
    use crate::model::event::{Level, NewEvent};
    use crate::model::spend::{Tokens, Usage, Usd};

    fn fill(change: &Change<'_>, at: &str) {
        let now = at.parse().unwrap();
        let decision = NewDecision {
            call: CallId { session: Some("s"), tool_use: None },
            tier: None,
            verdict: "deny",
            rule: "never tier",
            actions: "",
            services: "",
            budgets: "",
            reason: "",
            effect: Some(Effect::Changes),
            took: Some(Duration::from_micros(2500)),
        };
        change.note_decision(&decision, now).unwrap();
        change.note_time("stop", Duration::from_mins(1), now).unwrap();
        let event = NewEvent { level: Level::Warning, service: None, message: at.to_owned() };
        change.add_event(None, &event, now).unwrap();
        let tokens = Tokens { input: 3, cache_write_1h: 4, ..Tokens::default() };
        let usage = Usage { tokens, ..Usage::default() };
        let (session, model) = ("s".to_owned(), "m".to_owned());
        change.add_api_request(&ApiRequest { at: now, session, model, usage, cost: Usd(7) }).unwrap();
    }

    fn get(counts: &Counts, labels: &[&str]) -> u64 {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        counts.get(&labels).copied().unwrap_or(0)
    }

    #[test]
    fn counters_do_not_decrease_when_rows_are_pruned() {
        let (_folder, mut ledger) = fixture::ledger();
        let change = ledger.change().unwrap();
        for at in ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"] {
            fill(&change, at);
        }
        change.commit().unwrap();
        let before = ledger.counters().unwrap();
        assert_eq!(get(&before.decisions, &["deny", "changes"]), 3);
        assert_eq!(get(&before.denials, &["never tier", "changes"]), 3);
        // The bound of a bucket belongs to it.
        assert_eq!(get(&before.hooks, &["pre-tool-use", "1"]), 3);
        assert_eq!(get(&before.hooks, &["stop", "12"]), 3);
        assert_eq!(get(&before.hook_micros, &["stop"]), 180_000_000);
        assert_eq!(get(&before.events, &["warning"]), 3);
        assert_eq!(get(&before.api_requests, &["m"]), 3);
        assert_eq!(get(&before.api_cost, &["m"]), 21);
        assert_eq!(get(&before.api_tokens, &["m", "cache_write_1h"]), 12);
        for cutoff in ["2026-01-15T00:00:00Z", "2026-02-15T00:00:00Z"] {
            let change = ledger.change().unwrap();
            assert!(change.prune(cutoff.parse().unwrap()).unwrap() >= 4);
            change.commit().unwrap();
            assert_eq!(ledger.counters().unwrap(), before, "{cutoff}");
        }
    }
}
