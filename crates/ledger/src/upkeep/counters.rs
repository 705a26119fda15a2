//! Counters for metrics: running counts of the rows that no longer change, and the rows since.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::engine::{Connection, OptionalExtension as _, Result, insert, params};
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

/// The tables whose rows are counted.
pub(super) const TABLES: [&str; 5] =
    ["hook_decisions", "hook_times", "client_runs", "events", "api_requests"];

/// The counters of a table's rows behind ?1 up to ?2: their names, and queries of labels and count.
///
/// Denials are counted by the rules that denied, separated by spaces; hooks by the number of the bucket of their duration
/// in [`BUCKETS`]; costs in millionths of a US dollar.
fn queries(table: &str) -> Vec<(&'static str, String)> {
    const SLICE: &str = "id > ?1 AND id <= ?2";
    let bucket = || {
        let cases = BUCKETS.iter().enumerate();
        let cases: String =
            cases.map(|(number, bound)| format!("WHEN micros <= {bound} THEN {number} ")).collect();
        format!("CASE {cases}ELSE {} END", BUCKETS.len())
    };
    let of = |labels: &str, value: &str, which: &str| {
        format!("SELECT {labels}, {value} FROM {table} WHERE {SLICE}{which} GROUP BY 1")
    };
    let sum = |column: &str| format!("CAST(sum({column}) AS BIGINT)");
    let with = |first: &str, second: &str| format!("{first} || '{SEPARATOR}' || {second}");
    let hooks = |event: &str| {
        let timed = " AND micros IS NOT NULL";
        vec![
            ("hooks", of(&with(event, &bucket()), "count(*)", timed)),
            ("hook_micros", of(event, &sum("micros"), timed)),
        ]
    };
    match table {
        "hook_decisions" => {
            let effect = "coalesce(effect, CASE actions WHEN '' THEN '' ELSE 'acts' END)";
            let own = [
                ("decisions", of(&with("verdict", effect), "count(*)", " AND verdict <> 'operator'")),
                ("denials", of(&with("rule", effect), "count(*)", " AND verdict = 'deny'")),
                ("would_denials", of(&with("rule", effect), "count(*)", " AND verdict = 'would deny'")),
            ];
            own.into_iter().chain(hooks("'pre-tool-use'")).collect()
        }
        "hook_times" => hooks("event"),
        "client_runs" => {
            let ended = " AND outcome <> 'running'";
            let cost = "CAST(round(sum(cost_usd) * 1000000) AS BIGINT)";
            vec![
                ("sessions", of(&with("tier", "outcome"), "count(*)", ended)),
                (
                    "session_cost",
                    of("CAST(tier AS TEXT)", cost, &format!("{ended} AND cost_usd IS NOT NULL")),
                ),
            ]
        }
        "events" => vec![("events", of("level", "count(*)", ""))],
        _ => {
            let tokens = ["input", "output", "cache_write", "cache_write_1h", "cache_read"];
            let tokens = tokens.map(|kind| {
                ("api_tokens", of(&with("model", &format!("'{kind}'")), &sum(&format!("{kind}_tokens")), ""))
            });
            let own = [
                ("api_requests", of("model", "count(*)", "")),
                ("api_cost", of("model", &sum("cost_micros"), "")),
            ];
            own.into_iter().chain(tokens).collect()
        }
    }
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
    /// All counters since the ledger was created: what is counted already, and the rows since.
    pub fn counters(&self) -> Result<Counters> {
        let mut found = Counters::default();
        // Of one moment, so that nothing is counted twice.
        let reading = self.reading()?;
        for table in TABLES {
            let counted = reading.counted_up_to(table)?;
            for (name, sql) in queries(table) {
                reading.query(&sql, params![counted, i64::MAX], |row| {
                    found.add(name, &row.get::<String>(0)?, row.get(1)?);
                    Ok(())
                })?;
            }
        }
        reading.query("SELECT counter, labels, count FROM running_counts", &[], |row| {
            found.add(&row.get::<String>(0)?, &row.get::<String>(1)?, row.get(2)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Whether counting all rows would take long, because many are not counted yet.
    pub fn counts_are_behind(&self) -> Result<bool> {
        /// Rows that are counted in some milliseconds.
        const FEW: i64 = 20_000;
        for table in TABLES {
            let counted = self.counted_up_to(table)?;
            let sql = format!("SELECT coalesce(max(id), 0) FROM {table}");
            if self.query_row(&sql, &[], |row| row.get::<i64>(0))? - counted > FEW {
                return Ok(true);
            }
        }
        Ok(false)
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
             AND NOT EXISTS (SELECT 1 FROM question_answers WHERE question_id = questions.id)";
        self.count(sql, &time::write(now))
    }

    fn count(&self, sql: &str, value: &str) -> Result<u64> {
        self.query_row(sql, params![value], |row| row.count(0))
    }
}

impl Connection {
    /// The last row of a table that is counted.
    pub(super) fn counted_up_to(&self, table: &str) -> Result<i64> {
        let sql = "SELECT up_to FROM counted_rows WHERE table_name = ?1";
        Ok(self.query_row(sql, params![table], |row| row.get(0)).optional()?.unwrap_or(0))
    }
}

/// The counts of rows that are about to be added to the running counts.
pub(super) struct Slice {
    table: &'static str,
    from: i64,
    to: i64,
    counts: Vec<(&'static str, String, i64)>,
}

impl Ledger {
    /// Counts the next rows of a table before a time, at most as many as take some milliseconds; `None`: there are none.
    pub(super) fn count_next(&self, table: &'static str, before: &str) -> Result<Option<Slice>> {
        /// No lock is held.
        const MOST: u32 = 20_000;
        let at = match table {
            "events" => "created_at",
            "client_runs" => "started_at",
            _ => "at",
        };
        // The outcome of a session that has not ended is not known.
        let ended = if table == "client_runs" {
            " AND id < (SELECT coalesce(min(open.id), 9223372036854775807) FROM client_runs AS open WHERE open.outcome IN ('running', 'waiting'))"
        } else {
            ""
        };
        let from = self.counted_up_to(table)?;
        let last = format!(
            "SELECT max(id) FROM (SELECT id FROM {table} WHERE id > ?1 AND {at} < ?2{ended} ORDER BY id LIMIT {MOST}) AS slice"
        );
        let Some(to) = self.query_row(&last, params![from, before], |row| row.get(0))? else {
            return Ok(None);
        };
        let mut counts = Vec::new();
        for (name, sql) in queries(table) {
            self.query(&sql, params![from, to], |row| {
                counts.push((name, row.get(0)?, row.get(1)?));
                Ok(())
            })?;
        }
        Ok(Some(Slice { table, from, to, counts }))
    }
}

impl Change<'_> {
    /// Adds counts to the running counts, unless another process has done so meanwhile.
    pub(super) fn add_counts(&self, slice: Slice) -> Result<()> {
        let Slice { table, from, to, counts } = slice;
        let once = format!(
            "ON CONFLICT (table_name) DO UPDATE SET up_to = excluded.up_to WHERE counted_rows.up_to = {from}"
        );
        let moved = insert!(self.execute into counted_rows { table_name: table, up_to: to }, once)?;
        for (name, labels, count) in counts.into_iter().filter(|_| moved == 1) {
            insert!(self.run into running_counts {
                counter: name, labels: labels, count: count
            }, "ON CONFLICT (counter, labels) DO UPDATE SET count = running_counts.count + excluded.count")?;
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
    use crate::upkeep::Wanted;
    use opsctl_policy::model::records::event::{Level, NewEvent};
    use opsctl_policy::model::rights::spend::{Tokens, Usage, Usd};
    use opsctl_reader::terms::effect::Effect;

    fn fill(change: &Change<'_>, at: &str) {
        let now = at.parse().unwrap();
        let decision = NewDecision {
            call: CallId { session: Some("s"), tool_use: None },
            verdict: "deny",
            rule: "never tier",
            effect: Some(Effect::Changes),
            took: Some(Duration::from_micros(2500)),
            ..NewDecision::default()
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
            let wanted =
                Wanted { cutoff: Some(cutoff.parse().unwrap()), within: Duration::MAX, is_thorough: true };
            assert!(ledger.tidy(wanted, chrono::Utc::now(), |_| true).unwrap().deleted >= 3);
            assert_eq!(ledger.counters().unwrap(), before, "{cutoff}");
        }
    }
}
