//! `opsctl policy`: changes of the policy, for a person to make.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, environment_in_force, installation_in_force, print_page, time};
use opsctl_ledger::Ledger;
use opsctl_ledger::records::decisions::{WOULD_DENY, Which};
use opsctl_policy::model::records::verdict::RULES;
use opsctl_policy::model::rights::monitor::Monitor;

/// The maximum number of decisions that are read, the latest ones.
const MOST_DECISIONS: u32 = 20_000;

/// The page.
const TEMPLATE: &str = include_str!("../../../templates/verbs/policy_enforce.txt.j2");

/// Print changes of the policy
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl policy enforce budget

Writes nothing: a person changes hosts.yaml, and renders it.")]
pub struct PolicyArgs {
    #[command(subcommand)]
    verb: PolicyVerb,
}

#[derive(Debug, Subcommand)]
enum PolicyVerb {
    Enforce(EnforceArgs),
}

/// Print the lines of hosts.yaml that enforce a rule which is only watched, and what it would have denied
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl policy enforce budget
  opsctl policy enforce storage --since 30d")]
struct EnforceArgs {
    /// The rule: `budget`, `tier`, `never`, …, or a name in `policy.monitor.rules`
    #[arg(value_name = "RULE")]
    rule: String,
    /// Count only decisions since this time: `2h`, `3d`, `2026-03-21T14:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("policy enforce").in_guard(&[]).with_ledger()];

/// Runs the verb.
pub fn run(args: &PolicyArgs) -> Result<u8, Failure> {
    let PolicyVerb::Enforce(EnforceArgs { rule, since }) = &args.verb;
    let environment = environment_in_force();
    let monitor = installation_in_force(&environment).policy.monitor;
    let left = without(&monitor, rule)?;
    let which = Which { verdict: Some(WOULD_DENY), rule: Some(rule), since: *since, ..Which::default() };
    let found = Ledger::read_at(&environment.ledger, |ledger| ledger.decisions(which, MOST_DECISIONS))?;
    let commands: BTreeSet<&str> = found.iter().map(|decision| decision.command.as_str()).collect();
    let view = json!({ "rule": rule, "left": left, "times": found.len(), "commands": commands });
    print_page(TEMPLATE, &view, Utc::now())
}

/// The rules that stay watched.
fn without(monitor: &Monitor, rule: &str) -> Result<Vec<String>, Failure> {
    let watched: Vec<String> = if monitor.everything {
        RULES.iter().filter(|rule| **rule != "dry_run").map(|rule| (*rule).to_owned()).collect()
    } else {
        monitor.rules.clone()
    };
    if !watched.iter().any(|watched| watched == rule) {
        return Err(Failure::new(match watched.as_slice() {
            [] => "no rule is only watched: `policy.monitor` of hosts.yaml states none".to_owned(),
            watched => format!("`{rule}` is not only watched; these rules are: {}", watched.join(", ")),
        }));
    }
    Ok(watched.into_iter().filter(|watched| watched != rule).collect())
}
