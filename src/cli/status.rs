//! `opsctl status`: where things stand, in one look.

use std::io::Write as _;
use std::thread::sleep;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use chrono::{DateTime, SecondsFormat, Utc};
use clap::Args;
use serde::Serialize;

use super::cooldown::BudgetWire;
use super::events::{self, EventWire};
use super::place::environment_in_force;
use super::{Failure, OK, complain, print_json, time};
use crate::guard::budgets::{self, ServiceBudget};
use crate::guard::failures;
use crate::ledger::notices::Problem;
use crate::ledger::{Event, Ledger};
use crate::model::policy::Tier;
use crate::runtime::installation;

/// Show the tier, what waits for a person, the budgets and the latest events
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl status
  opsctl status --watch          # again every two seconds; Ctrl-C ends it
  opsctl status --json

On a terminal it has colours; NO_COLOR takes them out.")]
pub struct StatusArgs {
    /// Again every two seconds, until it is ended
    #[arg(long)]
    watch: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The events that are shown.
const EVENTS: u32 = 10;

const LOOK_AGAIN: Duration = Duration::from_secs(2);

const TITLE: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default();
const CRITICAL: Style = AnsiColor::Red.on_default().bold();
const QUIET: Style = Style::new().dimmed();

/// Everything that is shown.
struct Status {
    tier: Option<u8>,
    budgets: Vec<ServiceBudget>,
    problems: Vec<Problem>,
    guard_failures: usize,
    undelivered: u32,
    events: Vec<Event>,
}

#[derive(Serialize)]
struct StatusWire<'a> {
    tier: Option<u8>,
    problems: Vec<ProblemWire<'a>>,
    guard_failures: usize,
    undelivered_notifications: u32,
    services: Vec<BudgetWire<'a>>,
    events: Vec<EventWire<'a>>,
}

#[derive(Serialize)]
struct ProblemWire<'a> {
    title: &'a str,
    at: Option<String>,
}

/// Runs with parsed arguments.
pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    loop {
        let now = Utc::now();
        let status = Status::at(now)?;
        if args.json {
            status.print_json()?;
        } else {
            let mut stdout = anstream::stdout().lock();
            let clear = if args.watch { "\x1b[2J\x1b[H" } else { "" };
            if write!(stdout, "{clear}{}", status.in_words(now)).and_then(|()| stdout.flush()).is_err() {
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
    fn at(now: DateTime<Utc>) -> Result<Self, Failure> {
        let environment = environment_in_force();
        let mut notes = environment.complaints.clone();
        let compiled = installation::in_force(&environment, &mut notes);
        let budgets = budgets::of_all(&environment, &compiled.installation, now, &mut notes);
        for note in notes {
            complain(note);
        }
        let (problems, undelivered) = match Ledger::open_existing(&environment.db_path)? {
            Some(ledger) => (ledger.problems(now)?, ledger.undelivered_notices(now)?),
            None => (vec![], 0),
        };
        Ok(Self {
            tier: environment.tier.or(compiled.tier).map(Tier::number),
            budgets,
            problems,
            guard_failures: failures::kept(&environment),
            undelivered,
            events: events::latest(&environment, EVENTS)?,
        })
    }

    fn print_json(&self) -> Result<u8, Failure> {
        let problem =
            |problem: &'_ Problem| problem.at.map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true));
        let problems = self.problems.iter();
        print_json(&StatusWire {
            tier: self.tier,
            problems: problems.map(|it| ProblemWire { title: &it.title, at: problem(it) }).collect(),
            guard_failures: self.guard_failures,
            undelivered_notifications: self.undelivered,
            services: self.budgets.iter().map(BudgetWire::new).collect(),
            events: self.events.iter().map(EventWire::new).collect(),
        })
    }

    fn in_words(&self, now: DateTime<Utc>) -> String {
        let tier = self.tier.map_or_else(|| "none, budgets hold".to_owned(), |tier| tier.to_string());
        let mut text = styled(TITLE, "tier:") + &format!(" {tier}\n");
        text += &self.problems_in_words(now);
        text += &format!("\n{}\n", styled(TITLE, "budgets:"));
        for budget in &self.budgets {
            let style = match (budget.cooldown_until(), budget.in_use()) {
                (Some(_), _) => CRITICAL,
                (None, true) => WARNING,
                (None, false) => GOOD,
            };
            let until = budget.cooldown_until().map(|until| format!(" ({})", time::distance(until - now)));
            text +=
                &format!("  {}{}\n", styled(style, &plain(&budget.in_words())), until.unwrap_or_default());
        }
        text += &format!("\n{}\n", styled(TITLE, "events:"));
        for event in &self.events {
            let style = match event.level.as_str() {
                "critical" => CRITICAL,
                "warning" => WARNING,
                _ => QUIET,
            };
            text += &format!("  {}\n", styled(style, &events::line(event, false, now)));
        }
        text
    }

    /// What waits for a person; no section where nothing does.
    fn problems_in_words(&self, now: DateTime<Utc>) -> String {
        let mut lines: Vec<String> = self
            .problems
            .iter()
            .map(|Problem { title, at }| format!("{} | {}", time::shown(*at, false, now), plain(title)))
            .collect();
        if self.guard_failures > 0 {
            lines.push(format!("guard failures that wait for the ledger: {}", self.guard_failures));
        }
        if self.undelivered > 0 {
            lines
                .push(format!("notifications not delivered: {}; `opsctl notify` says why", self.undelivered));
        }
        if lines.is_empty() {
            return String::new();
        }
        let lines: String = lines.iter().map(|line| format!("  {}\n", styled(CRITICAL, line))).collect();
        format!("\n{}\n{lines}", styled(TITLE, "waiting for a person:"))
    }
}

fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Names are anybody's: no control character of theirs reaches the terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
