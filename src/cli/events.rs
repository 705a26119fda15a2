//! `opsctl events`: the latest events of the ledger, whoever wrote them.

use chrono::SecondsFormat;
use clap::Args;
use serde::Serialize;

use super::{Failure, OK, print, print_json};
use crate::ledger::{Event, Ledger};
use crate::runtime::environment::Environment;

/// List the latest events, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl events
  opsctl events --limit 100 --json")]
pub struct EventsArgs {
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs with parsed arguments.
pub fn run(args: &EventsArgs) -> Result<u8, Failure> {
    let events = latest(&Environment::of_process(), args.limit)?;
    if args.json {
        return print_json(&EventsWire { events: events.iter().map(EventWire::new).collect() });
    }
    print(&events.iter().map(|event| in_words(event) + "\n").collect::<String>());
    Ok(OK)
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
pub fn in_words(event: &Event) -> String {
    let EventWire { created_at, level, service, message } = EventWire::new(event);
    let line = format!(
        "{} | {level} | {} | {message}",
        created_at.as_deref().unwrap_or("unknown time"),
        service.unwrap_or("-")
    );
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
