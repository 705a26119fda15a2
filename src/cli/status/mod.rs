//! `opsctl status`: where things stand, in one look.

mod words;

use std::io::Write as _;
use std::thread::sleep;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clap::Args;
use serde::Serialize;

use super::cooldown::BudgetWire;
use super::events::{self, EventWire};
use super::hosts::HostWire;
use super::place::environment_in_force;
use super::{Failure, OK, complain, print_json, terminal};
use crate::guard::budgets::{self, ServiceBudget};
use crate::guard::failures;
use crate::ledger::client_runs::Run;
use crate::ledger::decisions::Which;
use crate::ledger::notices::Problem;
use crate::ledger::{Event, Ledger, LedgerError};
use crate::model::inventory::Host;
use crate::model::policy::{Policy, Tier};
use crate::probe::hosts::{self, Found};
use crate::probe::icmp::Reachability;
use crate::runtime::installation;
use crate::runtime::warning::Warning;

/// Show what waits for a person, the tier, budgets, hosts, latest sessions with their cost, and latest events
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl status
  opsctl status --watch          # again every two seconds; Ctrl-C ends it
  opsctl status --no-hosts       # without a look at the hosts
  opsctl status --json

Hosts are looked at now, for a second at most; with all of them up that takes a moment. On a terminal it has colours
and its width; NO_COLOR takes the colours out.")]
pub struct StatusArgs {
    /// Again every two seconds, until it is ended
    #[arg(long)]
    watch: bool,
    /// Do not look whether the hosts answer
    #[arg(long)]
    no_hosts: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The events that are shown.
const EVENTS: u32 = 10;

/// The sessions that are shown.
const SESSIONS: usize = 5;

/// More sessions than a day has room for.
const SESSIONS_OF_A_DAY: u32 = 10_000;

const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Who looks does not want to wait: a host that is up answers in milliseconds.
const HOSTS_DEADLINE: Duration = Duration::from_secs(1);

/// Everything that is shown.
struct Status {
    now: DateTime<Utc>,
    tier: Option<u8>,
    policy: Policy,
    budgets: Vec<ServiceBudget>,
    hosts: Option<Vec<(Host, Reachability)>>,
    guard_failures: usize,
    known: Known,
    events: Vec<Event>,
}

/// What the ledger holds.
#[derive(Default)]
struct Known {
    problems: Vec<Problem>,
    undelivered: u32,
    /// Commands of the last day that could not be judged.
    unjudged: usize,
    /// The latest, newest first.
    sessions: Vec<Run>,
    sessions_of_the_day: usize,
    cost_of_the_day: f64,
}

#[derive(Serialize)]
struct StatusWire<'a> {
    tier: Option<u8>,
    problems: Vec<ProblemWire<'a>>,
    guard_failures: usize,
    guard_failures_last_day: usize,
    undelivered_notifications: u32,
    services: Vec<BudgetWire<'a>>,
    hosts: Option<Vec<HostWire<'a>>>,
    sessions: Vec<SessionWire<'a>>,
    sessions_last_day: usize,
    cost_usd_last_day: f64,
    events: Vec<EventWire<'a>>,
}

#[derive(Serialize)]
struct ProblemWire<'a> {
    title: &'a str,
    at: Option<String>,
}

#[derive(Serialize)]
struct SessionWire<'a> {
    session: &'a str,
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
        let Run { session, tier, model, started_at, outcome, cost_usd, turns, duration_ms } = run;
        Self {
            session,
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
    at.map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// Runs with parsed arguments.
pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    loop {
        let status = Status::at(Utc::now(), args.no_hosts)?;
        if args.json {
            status.print_json()?;
        } else {
            let mut stdout = anstream::stdout().lock();
            let clear = if args.watch { "\x1b[2J\x1b[H" } else { "" };
            let text = words::in_words(&status, terminal::width());
            if write!(stdout, "{clear}{text}").and_then(|()| stdout.flush()).is_err() {
                // The reader has gone away.
                return Ok(OK);
            }
        }
        if !args.watch {
            return Ok(OK);
        }
        sleep(LOOK_AGAIN);
    }
}

impl Status {
    fn at(now: DateTime<Utc>, no_hosts: bool) -> Result<Self, Failure> {
        let environment = environment_in_force();
        let mut warnings = Warning::of_environment(&environment.warnings);
        let compiled = installation::in_force(&environment, &mut warnings);
        let inventory = &compiled.installation.inventory;
        let hosts = (!no_hosts).then(|| {
            let (found, warning) = hosts::look(&inventory.hosts, HOSTS_DEADLINE);
            warnings.extend(warning.map(Warning::from));
            found.into_iter().map(|Found { host, reachability }| (host.clone(), reachability)).collect()
        });
        let budgets = budgets::of_all(&environment, &compiled.installation, now, &mut warnings);
        for warning in warnings {
            complain(warning);
        }
        let known = match Ledger::open_existing(&environment.db_path)? {
            Some(ledger) => Known::from(&ledger, now)?,
            None => Known::default(),
        };
        Ok(Self {
            now,
            tier: environment.tier.or(compiled.tier).map(Tier::number),
            budgets,
            hosts,
            guard_failures: failures::kept(&environment),
            known,
            events: events::latest(&environment, EVENTS)?,
            policy: compiled.installation.policy,
        })
    }

    fn print_json(&self) -> Result<u8, Failure> {
        let Known { problems, undelivered, unjudged, sessions, sessions_of_the_day, cost_of_the_day } =
            &self.known;
        print_json(&StatusWire {
            tier: self.tier,
            problems: problems.iter().map(|it| ProblemWire { title: &it.title, at: time(it.at) }).collect(),
            guard_failures: self.guard_failures,
            guard_failures_last_day: *unjudged,
            undelivered_notifications: *undelivered,
            services: self.budgets.iter().map(BudgetWire::new).collect(),
            hosts: self
                .hosts
                .as_ref()
                .map(|hosts| hosts.iter().map(|(host, found)| HostWire::new(host, *found)).collect()),
            sessions: sessions.iter().map(SessionWire::new).collect(),
            sessions_last_day: *sessions_of_the_day,
            // To the hundredth of a cent: more digits are noise.
            cost_usd_last_day: (cost_of_the_day * 1e4).round() / 1e4,
            events: self.events.iter().map(EventWire::new).collect(),
        })
    }
}

impl Known {
    fn from(ledger: &Ledger, now: DateTime<Utc>) -> Result<Self, LedgerError> {
        let since = now - TimeDelta::days(1);
        let of_the_day = ledger.runs(Some(since), SESSIONS_OF_A_DAY)?.rows;
        let failed = |verdict| {
            let which = Which { verdict: Some(verdict), since: Some(since), ..Which::default() };
            ledger.decisions(which, SESSIONS_OF_A_DAY).map(|found| found.len())
        };
        Ok(Self {
            problems: ledger.problems(now)?,
            undelivered: ledger.undelivered_notices(now)?,
            unjudged: failed("fail-open")? + failed("fail-closed")?,
            sessions: ledger.runs(None, u32::try_from(SESSIONS).unwrap_or(u32::MAX))?.rows,
            sessions_of_the_day: of_the_day.len(),
            cost_of_the_day: of_the_day
                .iter()
                .filter_map(|run| run.cost_usd)
                .fold(0.0, |sum, cost| sum + cost),
        })
    }
}
