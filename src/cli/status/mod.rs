//! `opsctl status`: shows the current state.

mod display;
mod overview;

use chrono::{DateTime, Utc};
use clap::Args;
use serde::Serialize;

use super::approvals::{GrantWire, QuestionWire};
use super::cooldown::BudgetWire;
use super::events::EventWire;
use super::exit_code::OK;
use super::facts::Facts;
use super::failure::Failure;
use super::hosts::HostWire;
use super::output::{print, print_json};
use super::terminal;
use super::time::timestamp;
use super::watch::watch;
use crate::guard::spending::Spending;
use crate::ledger::Lease;
use crate::ledger::client_runs::Run;
use crate::ledger::notices::Problem;
use crate::ledger::spend::SessionSpend;
use crate::model::spend::Usd;
use overview::{Known, Status};

/// Show what needs attention, the tier, budgets, hosts, and the latest sessions and events
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl status
  opsctl status --watch          # refresh every two seconds; `q` ends it
  opsctl status --agent nas      # what one of several agents did
  opsctl status --no-hosts       # without pinging hosts
  opsctl status --json

Pings hosts for at most one second. On a terminal, lines fit its width and are coloured; NO_COLOR disables colours.")]
pub struct StatusArgs {
    /// Refresh every two seconds
    #[arg(long)]
    watch: bool,
    /// Only what this agent did, and its budgets
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Do not ping hosts
    #[arg(long)]
    no_hosts: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct StatusWire<'a> {
    tier: Option<u8>,
    questions: Vec<QuestionWire<'a>>,
    grants: Vec<GrantWire<'a>>,
    leases: Vec<LeaseWire<'a>>,
    problems: Vec<ProblemWire<'a>>,
    guard_failures: usize,
    guard_failures_last_day: usize,
    undelivered_notifications: u32,
    services: Vec<BudgetWire<'a>>,
    hosts: Option<Vec<HostWire<'a>>>,
    sessions: Vec<SessionWire<'a>>,
    sessions_last_day: usize,
    cost_usd_last_day: f64,
    spend: SpendWire<'a>,
    events: Vec<EventWire<'a>>,
}

/// What the guard counted for requests that it forwarded.
#[derive(Serialize)]
struct SpendWire<'a> {
    usd_last_day: f64,
    limit_usd_day: Option<f64>,
    limit_usd_session: Option<f64>,
    sessions: Vec<SessionSpendWire<'a>>,
}

#[derive(Serialize)]
struct SessionSpendWire<'a> {
    session: &'a str,
    requests: u64,
    usd: f64,
}

impl<'a> SpendWire<'a> {
    fn new(spending: &'a Spending) -> Self {
        let Spending { day, day_limit, session_limit, sessions } = spending;
        let session = |spend: &'a SessionSpend| {
            let SessionSpend { session, requests, usd } = spend;
            SessionSpendWire { session, requests: *requests, usd: usd.dollars() }
        };
        Self {
            usd_last_day: day.dollars(),
            limit_usd_day: day_limit.map(Usd::dollars),
            limit_usd_session: session_limit.map(Usd::dollars),
            sessions: sessions.iter().map(session).collect(),
        }
    }
}

#[derive(Serialize)]
struct ProblemWire<'a> {
    title: &'a str,
    at: Option<String>,
    agent: Option<&'a str>,
}

impl<'a> ProblemWire<'a> {
    fn new(problem: &'a Problem) -> Self {
        let Problem { title, at, agent } = problem;
        Self { title, at: time(*at), agent: agent.as_deref() }
    }
}

/// An agent that is remediating a service, in JSON.
#[derive(Serialize)]
struct LeaseWire<'a> {
    service: &'a str,
    agent: &'a str,
    session: Option<&'a str>,
    until: String,
}

impl<'a> LeaseWire<'a> {
    fn new(lease: &'a Lease) -> Self {
        let Lease { service, agent, session, until } = lease;
        Self { service, agent, session: session.as_deref(), until: timestamp(*until) }
    }
}

#[derive(Serialize)]
struct SessionWire<'a> {
    session: &'a str,
    agent: Option<&'a str>,
    tier: u8,
    model: &'a str,
    started_at: Option<String>,
    outcome: &'a str,
    cost_usd: Option<f64>,
    turns: Option<i64>,
    duration_ms: Option<i64>,
}

impl<'a> SessionWire<'a> {
    fn new(run: &'a Run) -> Self {
        let Run { session, tier, model, started_at, outcome, cost_usd, turns, duration_ms, agent, .. } = run;
        Self {
            session,
            agent: agent.as_deref(),
            tier: *tier,
            model,
            started_at: time(*started_at),
            outcome,
            cost_usd: *cost_usd,
            turns: *turns,
            duration_ms: *duration_ms,
        }
    }
}

fn time(at: Option<DateTime<Utc>>) -> Option<String> {
    at.map(timestamp)
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("status").in_guard(&["--watch"]).with_ledger()];

/// Runs the verb.
pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    let agent = args.agent.as_deref();
    let page = |width| Ok(display::render(&Status::at(Utc::now(), args.no_hosts, agent)?, width));
    if args.json {
        return Status::at(Utc::now(), args.no_hosts, agent)?.print_json();
    }
    if args.watch {
        watch("opsctl status", page)?;
        return Ok(OK);
    }
    print(page(terminal::width())?);
    Ok(OK)
}

impl Status {
    fn print_json(&self) -> Result<u8, Failure> {
        let Known {
            questions,
            grants,
            leases,
            problems,
            undelivered,
            unchecked,
            sessions,
            sessions_of_the_day,
            cost_of_the_day,
        } = &self.known;
        print_json(&StatusWire {
            tier: self.tier,
            questions: questions.iter().map(QuestionWire::new).collect(),
            grants: grants.iter().map(GrantWire::new).collect(),
            leases: leases.iter().map(LeaseWire::new).collect(),
            problems: problems.iter().map(ProblemWire::new).collect(),
            guard_failures: self.guard_failures,
            guard_failures_last_day: *unchecked,
            undelivered_notifications: *undelivered,
            services: self.budgets.iter().map(BudgetWire::new).collect(),
            hosts: self
                .hosts
                .as_ref()
                .map(|hosts| hosts.iter().map(|(host, found)| HostWire::new(host, *found)).collect()),
            sessions: sessions.iter().map(SessionWire::new).collect(),
            sessions_last_day: *sessions_of_the_day,
            // Rounded to hundredths of a cent.
            cost_usd_last_day: (cost_of_the_day * 1e4).round() / 1e4,
            spend: SpendWire::new(&self.spending),
            events: self.events.iter().map(EventWire::new).collect(),
        })
    }
}
