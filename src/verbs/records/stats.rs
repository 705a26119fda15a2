//! `opsctl stats`: shows hook durations, denials per rule, and requests to the model.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::json;

use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, environment_in_force, print_json, print_table, time};
use opsctl_ledger::Ledger;
use opsctl_ledger::records::decisions::{Counted, Durations, most_first};
use opsctl_ledger::records::spend::ModelSpend;

/// Show hook durations, denials per rule, and requests to the model
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl stats
  opsctl stats --since 24h --json

Durations are those of recorded hooks: on commands that act or are denied and, with a tier, on those that change \
something, without the time to record them. Requests to the model are those that `opsctl serve --api` forwarded.")]
pub struct StatsArgs {
    /// Only hooks and requests since this time: `2h`, `3d`, `2026-03-21T14:00:00Z`
    #[arg(long, value_name = "WHEN", default_value = "30d", value_parser = time::since)]
    since: DateTime<Utc>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("stats").in_guard(&[]).with_ledger()];

/// Runs the verb.
pub fn run(args: &StatsArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let (statistics, models) = Ledger::read_at(&environment.ledger, |ledger| {
        Ok((ledger.statistics(None, args.since, None)?, ledger.spend_by_model(args.since)?))
    })?;
    let (hooks, decisions, rules) =
        (statistics.durations(), most_first(&statistics.verdicts), most_first(&statistics.rules));
    let would_deny = most_first(&statistics.would_deny);
    if args.json {
        return print_json(
            &json!({ "hooks": hooks, "decisions": decisions, "rules": rules, "would_deny": would_deny, "models": models }),
        );
    }
    let times = |Durations { event, calls, p50_ms, p95_ms, p99_ms }: Durations| {
        [event, calls.to_string(), format!("{p50_ms} ms"), format!("{p95_ms} ms"), format!("{p99_ms} ms")]
    };
    print_table(["HOOK", "CALLS", "P50", "P95", "P99"], hooks.into_iter().map(times), "no hooks recorded");
    let counts = |Counted { name, count }: Counted| [name, count.to_string()];
    print_table(["DECISION", "COUNT"], decisions.into_iter().map(counts), "no decisions");
    print_table(["RULE", "DENIALS"], rules.into_iter().map(counts), "no denials");
    if !would_deny.is_empty() {
        print_table(["RULE", "WOULD DENY"], would_deny.into_iter().map(counts), "");
    }
    if !models.is_empty() {
        let row = |ModelSpend { model, requests, input_tokens, output_tokens, usd }: ModelSpend| {
            let [requests, input, output] = [requests, input_tokens, output_tokens].map(|n| n.to_string());
            [model, requests, input, output, usd.to_string()]
        };
        print_table(
            ["MODEL", "REQUESTS", "INPUT TOKENS", "OUTPUT TOKENS", "COST"],
            models.into_iter().map(row),
            "",
        );
    }
    Ok(OK)
}
