//! `opsctl events`: lists events.

use chrono::{DateTime, Utc};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::exit_code::OK;
use super::failure::Failure;
use super::follow::follow;
use super::output::print_json;
use super::project::environment_in_force;
use super::table::print_table;
use super::{services, time};
use crate::ledger::{Event, Ledger, WhichEvents};
use crate::model::plain_text::plain;
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// List the latest events, newest first, or follow them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl events
  opsctl events --service jellyfin --level critical --since 2d
  opsctl events --limit 100 --json
  opsctl events --follow --relative      # the latest events, then new ones; Ctrl-C ends it")]
pub struct EventsArgs {
    /// Only events of this service, by any of its names in hosts.yaml
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only events of this level
    #[arg(long, value_enum)]
    level: Option<LevelName>,
    /// Only events of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only events since this time: `2h`, `3d`, `2026-03-21T14:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = time::since)]
    since: Option<DateTime<Utc>>,
    /// Maximum number of events
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Print oldest first, then wait for new events
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

/// Runs the verb.
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
        let rows = |after, limit| matching(&environment, WhichEvents { after, ..which }, limit);
        return follow(args.limit, rows, |event| {
            if args.json {
                return Ok(serde_json::to_string(&EventWire::new(event))?);
            }
            Ok(line(event, args.relative, Utc::now()))
        });
    }
    // Without filters, events are sorted by time, otherwise by row id.
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
    let cells = |event: &Event| {
        let Event { at, level, service, message } = event;
        [
            time::shown(*at, args.relative, now),
            level.clone(),
            service.clone().unwrap_or_default(),
            message.clone(),
        ]
    };
    print_table(["TIME", "LEVEL", "SERVICE", "MESSAGE"], events.iter().map(cells), "no events");
    Ok(OK)
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

/// The latest events; empty without a ledger.
pub fn latest(environment: &Environment, limit: u32) -> Result<Vec<Event>, Failure> {
    let events = match Ledger::open_existing(&environment.db_path)? {
        Some(ledger) => ledger.latest_events(limit)?,
        None => None,
    };
    Ok(events.unwrap_or_default())
}

/// Formats an event as one line, without control characters.
pub fn line(event: &Event, relative: bool, now: DateTime<Utc>) -> String {
    let Event { at, level, service, message } = event;
    let at = time::shown(*at, relative, now);
    let line = format!("{at} | {level} | {} | {message}", service.as_deref().unwrap_or("-"));
    plain(&line)
}

#[derive(Serialize)]
struct EventsWire<'a> {
    events: Vec<EventWire<'a>>,
}

/// An event in JSON.
#[derive(Serialize)]
pub struct EventWire<'a> {
    created_at: Option<String>,
    level: &'a str,
    service: Option<&'a str>,
    message: &'a str,
}

impl<'a> EventWire<'a> {
    /// Converts an event.
    pub fn new(event: &'a Event) -> Self {
        Self {
            created_at: event.at.map(time::timestamp),
            level: &event.level,
            service: event.service.as_deref(),
            message: &event.message,
        }
    }
}
