//! Counters for metrics: sums over rows, and over those that `opsctl prune` has deleted.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::engine::{Result, insert, params};
use crate::file::database::{Change, Ledger};
use crate::time;

/// The upper bounds of the buckets of hook durations, in microseconds. There is one more bucket, without a bound.
pub const BUCKETS: [i64; 12] = [
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000,
];

/// Counts by labels.
pub type Counts = BTreeMap<Vec<String>, u64>;

/// The counters of a ledger, by the names of its queries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters(BTreeMap<String, Counts>);

impl<const N: usize> From<[(&str, Counts); N]> for Counters {
    fn from(counters: [(&str, Counts); N]) -> Self {
        Self(counters.into_iter().map(|(name, counts)| (name.to_owned(), counts)).collect())
    }
}

/// The separator of labels in a row.
const SEPARATOR: char = '\u{1f}';

/// A counter's name, which is also that in `pruned_counts`, and the rows before ?1 that it counts: labels and count.
///
/// Denials are counted by the rules that denied, separated by spaces; hooks by the number of the bucket of their duration
/// in [`BUCKETS`]; costs in millionths of a US dollar.
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
        format!("SELECT model || '\u{1f}' || '{kind}', CAST(sum({kind}_tokens) AS BIGINT) FROM api_requests WHERE at < ?1 GROUP BY 1")
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
        ("hook_micros", hooks("event", "CAST(sum(micros) AS BIGINT)")),
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
        ("api_cost", "SELECT model, CAST(sum(cost_micros) AS BIGINT) FROM api_requests WHERE at < ?1 GROUP BY 1".to_owned()),
        ("api_tokens", tokens.join(" UNION ALL ")),
    ]
}

impl Counters {
    /// The counts of this name.
    pub fn of(&self, name: &str) -> Counts {
        self.0.get(name).cloned().unwrap_or_default()
    }

    fn add(&mut self, name: &str, labels: &str, count: i64) {
        let labels = labels.split(SEPARATOR).map(str::to_owned).collect();
        let sum = self.0.entry(name.to_owned()).or_default().entry(labels).or_default();
        *sum = sum.saturating_add(u64::try_from(count).unwrap_or(0));
    }
}

impl Ledger {
    /// All counters since the ledger was created. Reads all rows.
    pub fn counters(&self) -> Result<Counters> {
        let mut found = Counters::default();
        // Of one moment, so that nothing is counted both as a row and as deleted.
        let reading = self.reading()?;
        for (name, sql) in queries() {
            // After every timestamp.
            reading.query(&sql, params!["9999-12-31T00:00:00Z"], |row| {
                found.add(name, &row.get::<String>(0)?, row.get(1)?);
                Ok(())
            })?;
        }
        reading.query("SELECT counter, labels, count FROM pruned_counts", &[], |row| {
            found.add(&row.get::<String>(0)?, &row.get::<String>(1)?, row.get(2)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// The number of sessions that are recorded as running.
    pub fn running_sessions(&self) -> Result<u64> {
        let sql = "SELECT count(*) FROM client_runs WHERE outcome = ?1";
        self.count(sql, "running")
    }

    /// The number of questions to a person that are neither answered nor expired.
    pub fn open_questions(&self, now: DateTime<Utc>) -> Result<u64> {
        let sql =
            "SELECT count(*) FROM questions WHERE expires_at > ?1 AND used_at IS NULL AND NOT at_terminal
             AND id NOT IN (SELECT question_id FROM question_answers)";
        self.count(sql, &time::write(now))
    }

    fn count(&self, sql: &str, value: &str) -> Result<u64> {
        self.query_row(sql, params![value], |row| row.count(0))
    }
}

impl Change<'_> {
    /// Keeps the counts of rows before `cutoff`, which are about to be deleted.
    pub(crate) fn keep_counts(&self, cutoff: &str) -> Result<()> {
        for (name, sql) in queries() {
            self.query(&sql, params![cutoff], |row| {
                let (labels, count): (String, i64) = (row.get(0)?, row.get(1)?);
                insert!(self.run into pruned_counts {
                    counter: name, labels: labels, count: count
                }, "ON CONFLICT (counter, labels) DO UPDATE SET count = pruned_counts.count + excluded.count")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::CallId;
    use crate::fixture;
    use crate::records::decisions::NewDecision;
    use crate::records::spend::ApiRequest;
    use opsctl_policy::model::records::event::{Level, NewEvent};
    use opsctl_policy::model::rights::spend::{Tokens, Usage, Usd};
    use opsctl_reader::terms::effect::Effect;

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

    #[test]
    fn counters_do_not_decrease_when_rows_are_pruned() {
        let (_folder, mut ledger) = fixture::ledger();
        let change = ledger.change().unwrap();
        for at in ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"] {
            fill(&change, at);
        }
        change.commit().unwrap();
        let before = ledger.counters().unwrap();
        for (counter, labels, count) in [
            ("decisions", vec!["deny", "changes"], 3),
            ("denials", vec!["never tier", "changes"], 3),
            // The bound of a bucket belongs to it.
            ("hooks", vec!["pre-tool-use", "1"], 3),
            ("hooks", vec!["stop", "12"], 3),
            ("hook_micros", vec!["stop"], 180_000_000),
            ("events", vec!["warning"], 3),
            ("api_requests", vec!["m"], 3),
            ("api_cost", vec!["m"], 21),
            ("api_tokens", vec!["m", "cache_write_1h"], 12),
        ] {
            let labels: Vec<String> = labels.into_iter().map(str::to_owned).collect();
            assert_eq!(before.of(counter).get(&labels), Some(&count), "{counter} {labels:?}");
        }
        for cutoff in ["2026-01-15T00:00:00Z", "2026-02-15T00:00:00Z"] {
            let change = ledger.change().unwrap();
            assert!(change.prune(cutoff.parse().unwrap()).unwrap() >= 4);
            change.commit().unwrap();
            assert_eq!(ledger.counters().unwrap(), before, "{cutoff}");
        }
    }
}
