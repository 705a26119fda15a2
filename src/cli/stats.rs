//! `opsctl stats`: shows hook durations and denials per rule.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use clap::Args;
use serde::Serialize;

use super::exit_code::OK;
use super::failure::Failure;
use super::output::{print, print_json};
use super::project::environment_in_force;
use super::time;
use crate::ledger::Ledger;
use crate::ledger::decisions::Statistics;
use crate::model::percentile::{milliseconds, percentile};

/// Show hook durations, and denials per rule
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl stats
  opsctl stats --since 24h --json

Durations are those of hooks on commands that act, without the time to record them. Hooks on other commands are not
recorded.")]
pub struct StatsArgs {
    /// Only hooks since this time: `2h`, `3d`, `2026-03-21T14:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct StatsWire {
    hooks: BTreeMap<String, TimesWire>,
    verdicts: BTreeMap<String, u64>,
    rules: BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct TimesWire {
    calls: usize,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
}

/// Runs the verb.
pub fn run(args: &StatsArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let statistics = match Ledger::open_existing(&environment.db_path)? {
        Some(ledger) => ledger.statistics(args.since)?,
        None => Statistics::default(),
    };
    let Statistics { times, verdicts, rules } = statistics;
    let hooks = times.into_iter().map(|(event, times)| (event, TimesWire::of(&times))).collect();
    let stats = StatsWire { hooks, verdicts, rules };
    if args.json {
        return print_json(&stats);
    }
    print(&in_words(&stats));
    Ok(OK)
}

impl TimesWire {
    /// `micros` must be sorted.
    fn of(micros: &[i64]) -> Self {
        let at = |percent| milliseconds(percentile(micros, percent));
        Self { calls: micros.len(), p50_ms: at(50), p95_ms: at(95), p99_ms: at(99) }
    }
}

fn in_words(stats: &StatsWire) -> String {
    let mut text = "hooks:\n".to_owned();
    for (event, TimesWire { calls, p50_ms, p95_ms, p99_ms }) in &stats.hooks {
        text += &format!("  {event}: {calls} calls, p50 {p50_ms} ms, p95 {p95_ms} ms, p99 {p99_ms} ms\n");
    }
    for (title, counts) in [("decisions", &stats.verdicts), ("denials", &stats.rules)] {
        text += &format!("{title}:\n");
        let mut counts: Vec<_> = counts.iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (name, count) in counts {
            text += &format!("  {name}: {count}\n");
        }
    }
    text
}
