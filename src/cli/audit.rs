//! `opsctl audit`: lists decisions on commands that act.

use chrono::{DateTime, Utc};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::agents::Agents;
use super::exit_code::OK;
use super::facts::Facts;
use super::failure::Failure;
use super::follow::follow;
use super::output::print_json;
use super::project::environment_in_force;
use super::text::{self, Text};
use super::{services, time};
use crate::inventory::error::suggestion;
use crate::ledger::Ledger;
use crate::ledger::decisions::{Decision, Which};
use crate::model::verdict::RULES;
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// List decisions on commands that act, with the actions, the rule and the budgets at that time
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl audit                              # the latest decisions, newest first
  opsctl audit --verdict deny --since 24h
  opsctl audit --service jellyfin --rule budget
  opsctl audit --follow                     # Ctrl-C ends it
  opsctl audit --limit 100000 --json > audit.json")]
pub struct AuditArgs {
    /// Only decisions on this service, by any of its names in hosts.yaml
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only decisions with this verdict
    #[arg(long, value_enum)]
    verdict: Option<VerdictName>,
    /// Only decisions by this rule: budget, tier, never, forbidden, …
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Only decisions in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only decisions on commands of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only decisions since this time: `2h`, `3d`, `2026-03-21T14:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
    /// Maximum number of decisions
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Print oldest first, then wait for new decisions
    #[arg(long)]
    follow: bool,
    /// Print relative times
    #[arg(long)]
    relative: bool,
    /// Print JSON; with `--follow` one object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum VerdictName {
    Allow,
    Deny,
    FailOpen,
    FailClosed,
}

impl VerdictName {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::FailOpen => "fail-open",
            Self::FailClosed => "fail-closed",
        }
    }
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("audit").in_guard(&["--follow"]).with_ledger()];

/// Runs the verb.
pub fn run(args: &AuditArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let inventory = installation::in_force(&environment, &mut vec![]).installation.inventory;
    let known = |name| services::known(&environment, &inventory, name, "see `opsctl cooldown` for all names");
    let service = args.service.as_deref().map(known).transpose()?;
    if let Some(rule) = args.rule.as_deref() {
        check_rule(&environment, rule)?;
    }
    let which = Which {
        service: service.as_deref(),
        verdict: args.verdict.map(VerdictName::as_str),
        rule: args.rule.as_deref(),
        session: args.session.as_deref(),
        since: args.since,
        after: None,
        agent: args.agent.as_deref(),
    };
    let matching = |which, limit| -> Result<Vec<Decision>, Failure> {
        Ok(match Ledger::open_existing(&environment.ledger)? {
            Some(ledger) => ledger.decisions(which, limit)?,
            None => vec![],
        })
    };
    let agents = Agents::of(&environment)?;
    if args.follow {
        let mut after = None;
        let next = |limit| {
            let found = matching(Which { after, ..which }, limit)?;
            after = Some(found.first().map_or(after.unwrap_or(0), |decision| decision.id));
            Ok(found)
        };
        return follow(args.limit, next, |decision| {
            if args.json {
                return Ok(Text::json(&DecisionWire::new(decision))?);
            }
            let cells = agents.named(cells(decision, args.relative), decision.agent.as_deref());
            Ok(Text::from(&text::line(&cells.join(" | "))))
        });
    }
    let decisions = matching(which, args.limit)?;
    if args.json {
        return print_json(&DecisionsWire { decisions: decisions.iter().map(DecisionWire::new).collect() });
    }
    let cells = |decision| cells(decision, args.relative);
    let rows = decisions.iter().map(|decision| agents.named(cells(decision), decision.agent.as_deref()));
    agents.print_table(TITLES, rows, "decisions", args.agent.as_deref());
    Ok(OK)
}

/// An error for a name that is no rule, and that no decision states.
fn check_rule(environment: &Environment, rule: &str) -> Result<(), Failure> {
    if RULES.contains(&rule) {
        return Ok(());
    }
    let which = Which { rule: Some(rule), ..Which::default() };
    if let Some(ledger) = Ledger::open_existing(&environment.ledger)?
        && !ledger.decisions(which, 1)?.is_empty()
    {
        return Ok(());
    }
    Err(Failure::UnknownRule { name: rule.to_owned(), remedy: suggestion(rule, RULES) })
}

const TITLES: [&str; 5] = ["TIME", "VERDICT", "RULE", "COMMAND", "REASON"];

/// The cells of a decision; `-` for what it does not have.
fn cells(decision: &Decision, relative: bool) -> [String; 5] {
    let Decision { verdict, rule, actions, budgets, reason, .. } = decision;
    // Of an allowed command, the budgets before it.
    let reason = if reason.is_empty() { budgets } else { reason };
    let at = time::shown(decision.at, relative, Utc::now());
    let filled = |text: &String| if text.is_empty() { "-".to_owned() } else { text.clone() };
    [at, verdict.clone(), filled(rule), filled(actions), filled(reason)]
}

#[derive(Serialize)]
struct DecisionsWire<'a> {
    decisions: Vec<DecisionWire<'a>>,
}

#[derive(Serialize)]
struct DecisionWire<'a> {
    id: i64,
    at: Option<String>,
    session: Option<&'a str>,
    agent: Option<&'a str>,
    tier: Option<u8>,
    verdict: &'a str,
    rules: Vec<&'a str>,
    actions: &'a str,
    services: Vec<&'a str>,
    budgets: &'a str,
    reason: &'a str,
    effect: Option<&'a str>,
    micros: Option<i64>,
}

impl<'a> DecisionWire<'a> {
    fn new(decision: &'a Decision) -> Self {
        Self {
            id: decision.id,
            at: decision.at.map(time::timestamp),
            session: decision.session.as_deref(),
            agent: decision.agent.as_deref(),
            tier: decision.tier,
            verdict: &decision.verdict,
            rules: decision.rule.split_whitespace().collect(),
            actions: &decision.actions,
            services: decision.services.split_whitespace().collect(),
            budgets: &decision.budgets,
            reason: &decision.reason,
            effect: decision.effect.as_deref(),
            micros: decision.micros,
        }
    }
}
