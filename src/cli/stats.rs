//! `opsctl stats`: shows hook durations, denials per rule, and requests to the model.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use clap::Args;
use serde::Serialize;

use super::exit_code::OK;
use super::facts::Facts;
use super::failure::Failure;
use super::output::print_json;
use super::project::environment_in_force;
use super::table::print_table;
use super::time;
use crate::ledger::Ledger;
use crate::ledger::decisions::Statistics;
use crate::ledger::spend::ModelSpend;
use crate::model::percentile::{milliseconds, percentile};

/// Show hook durations, denials per rule, and requests to the model
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl stats
  opsctl stats --since 24h --json

Durations are those of hooks on commands that act, without the time to record them. Hooks on other commands are \
not recorded. Requests to the model are those that `opsctl serve --api` forwarded.")]
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
    hooks: Vec<TimesWire>,
    decisions: Vec<CountWire>,
    rules: Vec<CountWire>,
    models: Vec<ModelWire>,
}

/// The requests to a model that the guard forwarded.
#[derive(Serialize)]
struct ModelWire {
    model: String,
    requests: u64,
    input_tokens: u64,
    output_tokens: u64,
    usd: f64,
}

#[derive(Serialize)]
struct TimesWire {
    event: String,
    calls: usize,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
}

#[derive(Serialize)]
struct CountWire {
    name: String,
    count: u64,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("stats").in_guard(&[]).with_ledger()];

/// Runs the verb.
pub fn run(args: &StatsArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let Statistics { times, verdicts, rules } = match Ledger::open_existing(&environment.ledger)? {
        Some(ledger) => ledger.statistics(args.since)?,
        None => Statistics::default(),
    };
    let ledger = Ledger::open_existing(&environment.ledger)?;
    let models = ledger.map_or_else(|| Ok(vec![]), |ledger| ledger.spend_by_model(args.since))?;
    let hooks = times.into_iter().map(|(event, times)| TimesWire::of(event, &times)).collect();
    let stats = StatsWire {
        hooks,
        decisions: most_first(verdicts),
        rules: most_first(rules),
        models: models.iter().map(ModelWire::new).collect(),
    };
    if args.json {
        return print_json(&stats);
    }
    let times = |hook: TimesWire| {
        let TimesWire { event, calls, p50_ms, p95_ms, p99_ms } = hook;
        [event, calls.to_string(), format!("{p50_ms} ms"), format!("{p95_ms} ms"), format!("{p99_ms} ms")]
    };
    print_table(
        ["HOOK", "CALLS", "P50", "P95", "P99"],
        stats.hooks.into_iter().map(times),
        "no hooks recorded",
    );
    let counts = |CountWire { name, count }| [name, count.to_string()];
    print_table(["DECISION", "COUNT"], stats.decisions.into_iter().map(counts), "no decisions");
    print_table(["RULE", "DENIALS"], stats.rules.into_iter().map(counts), "no denials");
    if !models.is_empty() {
        let row = |model: ModelSpend| {
            let ModelSpend { model, requests, input, output, usd } = model;
            [model, requests.to_string(), input.to_string(), output.to_string(), usd.to_string()]
        };
        print_table(
            ["MODEL", "REQUESTS", "INPUT TOKENS", "OUTPUT TOKENS", "COST"],
            models.into_iter().map(row),
            "",
        );
    }
    Ok(OK)
}

impl ModelWire {
    fn new(spend: &ModelSpend) -> Self {
        let ModelSpend { model, requests, input, output, usd } = spend;
        Self {
            model: model.clone(),
            requests: *requests,
            input_tokens: *input,
            output_tokens: *output,
            usd: usd.dollars(),
        }
    }
}

impl TimesWire {
    /// `micros` must be sorted.
    fn of(event: String, micros: &[i64]) -> Self {
        let at = |percent| milliseconds(percentile(micros, percent));
        Self { event, calls: micros.len(), p50_ms: at(50), p95_ms: at(95), p99_ms: at(99) }
    }
}

fn most_first(counts: BTreeMap<String, u64>) -> Vec<CountWire> {
    let mut counts: Vec<_> = counts.into_iter().map(|(name, count)| CountWire { name, count }).collect();
    counts.sort_by_key(|counted| std::cmp::Reverse(counted.count));
    counts
}
