//! `opsctl events`: the latest events of the ledger, whoever wrote them.

use std::io::Write as _;
use std::thread::sleep;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::exit_code::OK;
use super::failure::Failure;
use super::output::{print, print_json};
use super::project::environment_in_force;
use super::{services, time};
use crate::ledger::{Event, Ledger, WhichEvents};
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// How often `--follow` looks for news.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// List the latest events, newest first, or follow them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl events
  opsctl events --service jellyfin --level critical --since 2d
  opsctl events --limit 100 --json
  opsctl events --follow --relative      # the latest, and then each as it happens; Ctrl-C ends it")]
pub struct EventsArgs {
    /// Only those of this service, by any of its names in hosts.yaml
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only those of this level
    #[arg(long, value_enum)]
    level: Option<LevelName>,
    /// Only those of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only those since: `2h`, `3d`, `2026-03-21T14:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Oldest first, and then each event as it is written
    #[arg(long)]
    follow: bool,
    /// Say how long ago instead of when
    #[arg(long)]
    relative: bool,
    /// As JSON; with `--follow` an object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LevelName {
    Info,
    Warning,
    Critical,
}

impl LevelName {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// Runs with parsed arguments.
pub fn run(args: &EventsArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let inventory = installation::in_force(&environment, &mut vec![]).installation.inventory;
    let service = args.service.as_deref().map(|name| services::meant(&inventory, name));
    let which = WhichEvents {
        service: service.as_deref(),
        level: args.level.map(LevelName::as_str),
        session: args.session.as_deref(),
        since: args.since,
        after: None,
    };
    if args.follow {
        return follow(&environment, which, args);
    }
    // Without a condition the order is that of the events' own times, which other writers may set.
    let all =
        args.service.is_none() && args.level.is_none() && args.session.is_none() && args.since.is_none();
    let events = if all {
        latest(&environment, args.limit)?
    } else {
        let found = matching(&environment, which, args.limit)?;
        found.into_iter().map(|(_, event)| event).collect()
    };
    if args.json {
        return print_json(&EventsWire { events: events.iter().map(EventWire::new).collect() });
    }
    let now = Utc::now();
    print(&events.iter().map(|event| line(event, args.relative, now) + "\n").collect::<String>());
    Ok(OK)
}

fn follow(environment: &Environment, mut which: WhichEvents<'_>, args: &EventsArgs) -> Result<u8, Failure> {
    let mut limit = args.limit;
    loop {
        let found = matching(environment, which, limit)?;
        let now = Utc::now();
        let mut stdout = std::io::stdout().lock();
        for (id, event) in found.iter().rev() {
            which.after = Some(*id);
            let line = if args.json {
                serde_json::to_string(&EventWire::new(event))?
            } else {
                line(event, args.relative, now)
            };
            if writeln!(stdout, "{line}").and_then(|()| stdout.flush()).is_err() {
                // The reader has gone away.
                return Ok(OK);
            }
        }
        drop(stdout);
        // Whatever comes from here on is news.
        which.after = which.after.or(Some(0));
        limit = u32::MAX;
        sleep(LOOK_AGAIN);
    }
}

fn matching(
    environment: &Environment,
    which: WhichEvents<'_>,
    limit: u32,
) -> Result<Vec<(i64, Event)>, Failure> {
    let events = match Ledger::open_existing(&environment.db_path)? {
        Some(ledger) => ledger.events(which, usize::try_from(limit).unwrap_or(usize::MAX))?,
        None => None,
    };
    Ok(events.unwrap_or_default())
}

/// The latest events; none where there is no ledger yet.
pub fn latest(environment: &Environment, limit: u32) -> Result<Vec<Event>, Failure> {
    let events = match Ledger::open_existing(&environment.db_path)? {
        Some(ledger) => ledger.latest_events(limit)?,
        None => None,
    };
    Ok(events.unwrap_or_default())
}

/// One line; what other writers put into a message cannot break it.
pub fn line(event: &Event, relative: bool, now: DateTime<Utc>) -> String {
    let Event { at, level, service, message } = event;
    let at = time::shown(*at, relative, now);
    let line = format!("{at} | {level} | {} | {message}", service.as_deref().unwrap_or("-"));
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[derive(Serialize)]
struct EventsWire<'a> {
    events: Vec<EventWire<'a>>,
}

/// An event, as `--json` prints it.
#[derive(Serialize)]
pub struct EventWire<'a> {
    created_at: Option<String>,
    level: &'a str,
    service: Option<&'a str>,
    message: &'a str,
}

impl<'a> EventWire<'a> {
    /// What is printed of an event.
    pub fn new(event: &'a Event) -> Self {
        Self {
            created_at: event.at.map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true)),
            level: &event.level,
            service: event.service.as_deref(),
            message: &event.message,
        }
    }
}
