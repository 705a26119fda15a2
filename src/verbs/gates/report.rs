//! `opsctl gate report`: what gates that only watch would have refused.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, environment_in_force, print_json, print_page, time};
use opsctl_ledger::Ledger;
use opsctl_ledger::records::decisions::{Decision, WOULD_DENY, Which};

/// The maximum number of decisions that are read, the latest ones.
const MOST_DECISIONS: u32 = 20_000;

/// The page.
const TEMPLATE: &str = include_str!("../../../templates/verbs/gate_report.txt.j2");

/// List what watching gates would have refused, and the lines of hosts.yaml that would allow it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl gate report
  opsctl gate report --since 7d --json

`policy.monitor.gates` of hosts.yaml lists the gates that only watch. Reads the ledger, and writes nothing.")]
pub struct ReportArgs {
    /// Only decisions since this time: `2h`, `3d`, `2026-03-21T14:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: Facts = Facts::reads("gate report").in_guard(&[]).with_ledger();

/// What one rule would have refused.
#[derive(Debug, Serialize)]
struct Refusals<'a> {
    rule: &'a str,
    times: usize,
    last: Option<String>,
    /// The latest commands, each once.
    commands: Vec<&'a str>,
    /// The lines of `hosts.yaml` that would allow it; `None` if no key does.
    allows: Option<String>,
}

/// The most commands of a rule.
const MOST_COMMANDS: usize = 5;

/// Runs the verb.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let which = Which { verdict: Some(WOULD_DENY), since: args.since, ..Which::default() };
    let decisions = Ledger::read_at(&environment.ledger, |ledger| ledger.decisions(which, MOST_DECISIONS))?;
    let view = json!({ "refusals": refusals(&decisions) });
    if args.json { print_json(&view) } else { print_page(TEMPLATE, &view, Utc::now()) }
}

/// The decisions by the first of their rules, the most frequent first.
fn refusals(decisions: &[Decision]) -> Vec<Refusals<'_>> {
    let mut by_rule: BTreeMap<&str, Vec<&Decision>> = BTreeMap::new();
    for decision in decisions {
        let rule = decision.rule.split_whitespace().next().unwrap_or_default();
        by_rule.entry(rule).or_default().push(decision);
    }
    let mut found: Vec<Refusals<'_>> =
        by_rule.into_iter().map(|(rule, decisions)| of_rule(rule, &decisions)).collect();
    found.sort_by_key(|refusals| std::cmp::Reverse(refusals.times));
    found
}

fn of_rule<'a>(rule: &'a str, decisions: &[&'a Decision]) -> Refusals<'a> {
    let mut commands: Vec<&str> = vec![];
    for decision in decisions {
        if commands.len() < MOST_COMMANDS && !commands.contains(&decision.command.as_str()) {
            commands.push(&decision.command);
        }
    }
    Refusals {
        rule,
        times: decisions.len(),
        last: decisions.first().and_then(|decision| decision.at).map(time::timestamp),
        commands,
        allows: decisions.first().and_then(|decision| allows(rule, &decision.reason)),
    }
}

/// The line of `hosts.yaml` that allows what a rule denies, if there is one.
fn allows(rule: &str, reason: &str) -> Option<String> {
    Some(match rule {
        "budget" => "policy: {restart: {limit: 4, window: 4h}}".to_owned(),
        "hosts" => "hosts: {NAME: {address: ADDRESS}}".to_owned(),
        "unlisted" => "policy: {unlisted: own}".to_owned(),
        "unresolved" => "policy: {unresolved: budget}".to_owned(),
        "effect" => "programs: {NAME: {effect: reads}}".to_owned(),
        "never" => {
            let (_, rest) = reason.split_once("(rule ")?;
            format!("policy: {{never: {{{}: allow}}}}", rest.split_once(')')?.0)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_proposed_only_for_rules_that_a_key_switches() {
        let of = |rule, reason| allows(rule, reason);
        let never = "Never allowed (rule storage): `wipefs` removes data.";
        assert_eq!(of("never", never).as_deref(), Some("policy: {never: {storage: allow}}"));
        assert_eq!(of("never", "Never allowed: too deep"), None);
        assert_eq!(of("forbidden", "Forbidden at every tier"), None);
        assert!(of("budget", "").is_some_and(|line| line.contains("restart")));
    }
}
