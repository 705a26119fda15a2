//! `opsctl suggest`: proposes keys of `hosts.yaml` for what the ledger could not resolve.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};

use crate::machine::installation;
use crate::machine::warning::Warning;
use crate::setup::import::text::scalar;
use crate::setup::suggest::{Records, Section, Suggestion, suggestions};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::failure::Failure;
use crate::verbs::terminal::output::{complain_all, print, print_json};
use crate::verbs::terminal::project::environment_in_force;
use crate::verbs::terminal::time;
use opsctl_ledger::Ledger;
use opsctl_ledger::records::decisions::Which;
use opsctl_redact::shortened;

/// The maximum number of decisions that are read, the latest ones.
const MOST_DECISIONS: u32 = 20_000;

/// The longest command of a comment, in characters.
const COMMAND_CHARS: usize = 100;

/// Propose keys of hosts.yaml that would resolve unlisted targets, hosts and unknown programs of the ledger
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
    let mut warnings = Warning::of_environment(&environment.warnings);
    let installation = installation::in_force(&environment, &mut warnings).installation;
    complain_all(warnings);
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
    if args.json {
        return print_json(&json!({ "suggestions": found.iter().map(json).collect::<Vec<_>>() }));
    }
    print(&text(&found));
    Ok(crate::verbs::terminal::exit_code::OK)
}

/// The suggestions as a part of `hosts.yaml`.
fn text(found: &[Suggestion]) -> String {
    if found.is_empty() {
        return "# nothing to suggest: hosts.yaml lists what the ledger contains\n".to_owned();
    }
    let mut text = String::new();
    for (section, title) in [
        (Section::Hosts, "hosts:"),
        (Section::Services, "services:"),
        (Section::Programs, "programs:"),
        (
            Section::Ids,
            "# With `policy: {resolve: [local, ssh]}`, opsctl asks the engines which containers these IDs name:",
        ),
        (Section::Unresolved, "# No key determines the targets of these commands; the agent must name them:"),
    ] {
        let of_section: Vec<&Suggestion> = found.iter().filter(|it| it.section == section).collect();
        if of_section.is_empty() {
            continue;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        text += &format!("{gap}{title}\n");
        text += &of_section.into_iter().map(entry).collect::<String>();
    }
    text
}

fn entry(suggestion: &Suggestion) -> String {
    let Suggestion { section, name, host, part, commands, similar, .. } = suggestion;
    let seen = seen(suggestion);
    let commands: Vec<String> =
        commands.iter().map(|command| format!("`{}`", shortened(command, COMMAND_CHARS))).collect();
    let of = if commands.is_empty() { String::new() } else { format!(": {}", commands.join(", ")) };
    let key = scalar(name);
    match section {
        Section::Hosts => {
            format!("  # {seen}; add `ssh:` with the user\n  {key}: {{address: {key}}}\n")
        }
        Section::Services => {
            let mut text = format!("  # {seen}{of}\n");
            if let Some(similar) = similar {
                text += &format!("  # If it is a part of {similar}, list it there instead.\n");
            }
            let host = host.as_ref().map(|host| format!("host: {}", scalar(host)));
            let part = part.as_ref().map(|(key, value)| format!("{key}: [{}]", scalar(value)));
            let keys: Vec<String> = host.into_iter().chain(part).collect();
            text + &format!("  {key}: {{{}}}\n", keys.join(", "))
        }
        Section::Programs => {
            let matches: Vec<String> = suggestion.commands.iter().map(|command| scalar(command)).collect();
            format!(
                "  # {seen}{of}; what it does is unknown\n  # State `reads`, or what it does (docs/programs.md); `render` refuses `unknown`.\n  {key}: {{effect: unknown, matches: [{}]}}\n",
                matches.join(", ")
            )
        }
        Section::Ids | Section::Unresolved => format!("#   {seen}: `{}`\n", shortened(name, COMMAND_CHARS)),
    }
}

/// `3 times, last 2026-03-21T14:00:00Z`.
fn seen(suggestion: &Suggestion) -> String {
    let times = if suggestion.times == 1 { "once".to_owned() } else { format!("{} times", suggestion.times) };
    match suggestion.last {
        Some(last) => format!("{times}, last {}", time::timestamp(last)),
        None => times,
    }
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
