//! `opsctl suggest`: proposes keys of `hosts.yaml` for what the ledger could not resolve.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};

use crate::setup::suggest::{Records, Section, Suggestion, suggestions};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{
    Failure, environment_in_force, installation_in_force, print_json, print_page, time,
};
use opsctl_ledger::Ledger;
use opsctl_ledger::records::decisions::Which;

/// The maximum number of decisions that are read, the latest ones.
const MOST_DECISIONS: u32 = 20_000;

/// The suggestions as a part of `hosts.yaml`.
const TEMPLATE: &str = include_str!("../../../templates/verbs/suggest.txt.j2");

/// Propose entries of hosts.yaml for unlisted targets and hosts, and for unknown programs in the ledger
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl suggest
  opsctl suggest --since 7d
  opsctl suggest --json

Reads the ledger and hosts.yaml, and writes nothing.")]
pub struct SuggestArgs {
    /// Only decisions since this time: `2h`, `3d`, `2026-03-21T14:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("suggest").in_guard(&[]).with_ledger()];

/// Runs the verb.
pub fn run(args: &SuggestArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let installation = installation_in_force(&environment);
    let records = Ledger::read_at(&environment.ledger, |ledger| {
        Ok(Records {
            decisions: ledger.decisions(Which { since: args.since, ..Which::default() }, MOST_DECISIONS)?,
            services: ledger.seen_services()?,
            hosts: ledger.seen_hosts()?,
        })
    })?;
    let mut found = suggestions(&records, &installation);
    found.retain(|suggestion| {
        args.since.is_none_or(|since| suggestion.last.is_some_and(|last| last >= since))
    });
    let view = json!({ "suggestions": found.iter().map(json).collect::<Vec<_>>() });
    if args.json { print_json(&view) } else { print_page(TEMPLATE, &view, Utc::now()) }
}

fn json(suggestion: &Suggestion) -> Value {
    let Suggestion { section, name, host, part, commands, similar, times, last } = suggestion;
    let section = match section {
        Section::Hosts => Some("hosts"),
        Section::Services => Some("services"),
        Section::Programs => Some("programs"),
        Section::Ids => Some("policy"),
        Section::Unresolved => None,
    };
    let (key, value) = part.as_ref().map(|(key, value)| (*key, value.as_str())).unzip();
    json!({
        "section": section,
        "name": name,
        "host": host,
        "key": key,
        "value": value,
        "similar": similar,
        "commands": commands,
        "times": times,
        "last": last.map(time::timestamp),
    })
}
