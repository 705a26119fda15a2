//! `opsctl audit`: lists decisions on commands that act.

mod chain;
mod export;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};

use export::Format;

use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::verbs::facts::Facts;
use crate::verbs::setup::services;
use crate::verbs::terminal::{
    Failure, Listing, OK, Pages, Text, environment_in_force, limited, time, try_print,
};
use opsctl_inventory::error::suggestion;
use opsctl_ledger::Ledger;
use opsctl_ledger::records::decisions::{Decision, OPERATOR, WOULD_DENY, Which};
use opsctl_policy::model::records::verdict::RULES;

#[expect(clippy::struct_excessive_bools, reason = "each is a flag on the command line")]
/// List decisions on commands, with the command, the rule and the budgets at that time, and what persons have done
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl audit                              # the latest decisions, newest first
  opsctl audit --verdict deny --since 24h
  opsctl audit --service jellyfin --rule budget
  opsctl audit --verdict operator           # what persons have done
  opsctl audit --host nas --tier 3 --since 2026-03-21 --until 2026-03-22
  opsctl audit --follow                     # Ctrl-C ends it
  opsctl audit --all --json > audit.jsonl
  opsctl audit --export csv > audit.csv
  opsctl audit verify")]
#[command(args_conflicts_with_subcommands = true)]
pub struct AuditArgs {
    #[command(subcommand)]
    verb: Option<AuditVerb>,
    /// Only decisions on this service, by any of its names in hosts.yaml
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only decisions with this verdict
    #[arg(long, value_parser = ["allow", "deny", "fail-open", "fail-closed", OPERATOR, WOULD_DENY])]
    verdict: Option<String>,
    /// Only decisions by this rule: budget, tier, never, forbidden, …
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Only decisions on commands that concern this host, by its name or address
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Only decisions on commands that contain this text
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// Only decisions in sessions of this tier
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: Option<u8>,
    /// Only decisions in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only decisions on commands of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only decisions since this time: `2h`, `3d`, `2026-03-21T14:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
    /// Only decisions before this time
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    until: Option<DateTime<Utc>>,
    /// Maximum number of decisions
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Print all decisions, oldest first, one in a line
    #[arg(long, conflicts_with_all = ["limit", "follow"])]
    all: bool,
    /// Print oldest first, then wait for new decisions
    #[arg(long)]
    follow: bool,
    /// Print relative times
    #[arg(long)]
    relative: bool,
    /// Print JSON; with `--follow` and `--all` one object per line
    #[arg(long)]
    json: bool,
    /// Print all decisions in this format, oldest first
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["all", "limit", "follow", "json", "relative"])]
    export: Option<Format>,
}

#[derive(Debug, Subcommand)]
enum AuditVerb {
    Verify(chain::VerifyArgs),
    Sign(chain::SignArgs),
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[
    Facts::reads("audit").in_guard(&["--follow", "--all", "--export"]).with_ledger(),
    chain::FACTS[0],
    chain::FACTS[1],
];

/// Runs the verb.
pub fn run(args: &AuditArgs) -> Result<u8, Failure> {
    match &args.verb {
        Some(AuditVerb::Verify(args)) => return chain::verify(args),
        Some(AuditVerb::Sign(args)) => return chain::sign(args),
        None => {}
    }
    let environment = environment_in_force();
    let inventory = installation::in_force(&environment, &mut vec![]).installation.inventory;
    let service = services::asked(&environment, &inventory, args.service.as_deref())?;
    if let Some(rule) = args.rule.as_deref() {
        check_rule(&environment, rule)?;
    }
    let which = Which {
        service: service.as_deref(),
        verdict: args.verdict.as_deref(),
        rule: args.rule.as_deref(),
        session: args.session.as_deref(),
        since: args.since,
        until: args.until,
        host: args.host.as_deref().map(|host| inventory.host_of(host)),
        tier: args.tier,
        command: args.command.as_deref(),
        agent: args.agent.as_deref(),
        ..Which::default()
    };
    let matching =
        |which, limit| Ledger::read_at(&environment.ledger, |ledger| ledger.decisions(which, limit));
    let listing = Listing {
        what: "decisions",
        titles: ["TIME", "VERDICT", "RULE", "TIER", "HOST", "COMMAND", "REASON", "SESSION"],
        cells: &|decision| cells(decision, args.relative),
        agent_of: |decision: &Decision| decision.agent.as_deref(),
        agent: args.agent.as_deref(),
        json: args.json,
    };
    if args.follow {
        let mut after = None;
        return listing.follow(limited(args.limit), &environment, |limit| {
            let found = matching(Which { after, ..which }, limit)?;
            after = found.iter().map(|decision| decision.id).max().max(after).or(Some(0));
            Ok(found)
        });
    }
    if args.all || args.export.is_some() {
        let Some(ledger) = Ledger::open_existing(&environment.ledger)? else { return Ok(OK) };
        let page = |after, through| {
            let page = Which { after: Some(after), through: Some(through), ..which };
            Ok(ledger.decisions(page, u32::MAX)?)
        };
        let pages = Pages::up_to(ledger.last_decision()?, page);
        return match args.export {
            Some(format) => export(format, pages),
            None => listing.all(&environment, pages),
        };
    }
    let mut found = matching(which, limited(args.limit))?;
    // What was recorded after an outage happened earlier than its row id says.
    found.sort_by_key(|decision| std::cmp::Reverse((decision.at, decision.id)));
    listing.print(&found, &environment)
}

/// Prints decisions in a format of other programs, until the reader closes the pipe.
fn export(format: Format, decisions: impl Iterator<Item = Result<Decision, Failure>>) -> Result<u8, Failure> {
    let lines = decisions.map(|decision| Ok(format.line(&decision?)?));
    for line in format.header().map(Ok).into_iter().chain(lines) {
        let line: Result<Text, Failure> = line;
        if try_print(line?).is_err() {
            break;
        }
    }
    Ok(OK)
}

/// An error for a name that is no rule, and that no decision states.
fn check_rule(environment: &Environment, rule: &str) -> Result<(), Failure> {
    if RULES.contains(&rule) {
        return Ok(());
    }
    let which = Which { rule: Some(rule), ..Which::default() };
    if !Ledger::read_at(&environment.ledger, |ledger| ledger.decisions(which, 1))?.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("no rule `{rule}`; {}", suggestion(rule, RULES))))
}

/// The cells of a decision; `-` for what it does not have.
fn cells(decision: &Decision, relative: bool) -> [String; 8] {
    let Decision { verdict, rule, tier, hosts, actions, command, budgets, reason, session, .. } = decision;
    let by_person = decision.person.as_ref().map(|person| format!("by {person}"));
    // Of an allowed command, the budgets before it.
    let reason = if reason.is_empty() { by_person.as_ref().unwrap_or(budgets) } else { reason };
    let undo = decision.undo.iter().flat_map(|undo| undo.lines());
    let reason = std::iter::once(reason.as_str()).filter(|reason| !reason.is_empty()).chain(undo);
    let reason = reason.collect::<Vec<_>>().join("; ");
    let written = if command.is_empty() { actions } else { command };
    let at = time::shown(decision.at, relative, Utc::now());
    let filled = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    [
        at,
        verdict.clone(),
        filled(rule),
        tier.map_or_else(|| filled(""), |tier| tier.to_string()),
        filled(hosts),
        filled(&opsctl_redact::shortened(&written.replace('\n', " "), 200)),
        filled(&reason),
        filled(session.as_deref().unwrap_or_default()),
    ]
}
