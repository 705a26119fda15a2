//! `opsctl events`: lists events.

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
use crate::ledger::decisions::{Decision, Which};
use crate::ledger::{Event, Ledger, WhichEvents};
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// List the latest events and denials, newest first, or follow them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl events
  opsctl events --service jellyfin --level critical --since 2d
  opsctl events --limit 100 --json
  opsctl events --follow --relative      # Ctrl-C ends it")]
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
    /// Only events of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
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
    /// A denied command
    Denied,
}

impl LevelName {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
            Self::Denied => "denied",
        }
    }
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("events").in_guard(&["--follow"]).with_ledger()];

/// Runs the verb.
pub fn run(args: &EventsArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let inventory = installation::in_force(&environment, &mut vec![]).installation.inventory;
    let known = |name| services::known(&environment, &inventory, name, "see `opsctl cooldown` for all names");
    let service = args.service.as_deref().map(known).transpose()?;
    let mut source = Source {
        environment: &environment,
        which: WhichEvents {
            service: service.as_deref(),
            level: args.level.map(LevelName::as_str),
            session: args.session.as_deref(),
            since: args.since,
            after: args.follow.then_some(0),
            agent: args.agent.as_deref(),
        },
        after_denial: None,
    };
    let agents = Agents::of(&environment)?;
    if args.follow {
        return follow(
            args.limit,
            |limit| source.next(limit),
            |event| {
                if args.json {
                    return Ok(Text::json(&EventWire::new(event))?);
                }
                Ok(Text::from(&line(event, args.relative, agents.are_several(), Utc::now())))
            },
        );
    }
    let events = source.next(args.limit)?;
    if args.json {
        return print_json(&EventsWire { events: events.iter().map(EventWire::new).collect() });
    }
    let now = Utc::now();
    let cells = |event: &Event| {
        let Event { at, level, service, message, .. } = event;
        [
            time::shown(*at, args.relative, now),
            level.clone(),
            service.clone().unwrap_or_default(),
            message.clone(),
        ]
    };
    let rows = events.iter().map(|event| agents.named(cells(event), event.agent.as_deref()));
    agents.print_table(TITLES, rows, "events", args.agent.as_deref());
    Ok(OK)
}

const TITLES: [&str; 4] = ["TIME", "LEVEL", "SERVICE", "MESSAGE"];

/// Events, and denials as events of the level `denied`.
struct Source<'a> {
    environment: &'a Environment,
    which: WhichEvents<'a>,
    /// The row id of the last denial that was read.
    after_denial: Option<i64>,
}

impl Source<'_> {
    /// The next events, newest first, at most this many.
    fn next(&mut self, limit: u32) -> Result<Vec<Event>, Failure> {
        let Some(ledger) = Ledger::open_existing(&self.environment.ledger)? else { return Ok(vec![]) };
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        if self.which.level.is_none_or(|level| level == LevelName::Denied.as_str()) {
            let WhichEvents { service, session, since, agent, .. } = self.which;
            let which = Which {
                service,
                verdict: Some("deny"),
                rule: None,
                session,
                since,
                after: self.after_denial,
                agent,
            };
            let denials = ledger.decisions(which, limit)?;
            self.after_denial = denials.first().map(|denial| denial.id).or(self.after_denial);
            found.extend(denials.into_iter().map(denied));
        }
        found.extend(self.events(&ledger, limit, most)?);
        // Of two in one second, the denial is the newer one.
        found.sort_by_key(|event| std::cmp::Reverse(event.at));
        found.truncate(most);
        Ok(found)
    }

    fn events(&mut self, ledger: &Ledger, limit: u32, most: usize) -> Result<Vec<Event>, Failure> {
        // Without filters, events are sorted by time, so that late rows of other programs are in their place.
        if self.which != WhichEvents::default() {
            let found = ledger.events(self.which, most)?;
            self.which.after = found.first().map(|(id, _)| *id).or(self.which.after);
            return Ok(found.into_iter().map(|(_, event)| event).collect());
        }
        Ok(ledger.latest_events(limit)?)
    }
}

fn denied(decision: Decision) -> Event {
    let service = Some(decision.services).filter(|services| !services.is_empty());
    Event {
        at: decision.at,
        level: LevelName::Denied.as_str().to_owned(),
        service,
        message: decision.reason,
        agent: decision.agent,
    }
}

/// The latest events of an agent (`None`: of all agents); empty without a ledger.
pub fn latest(environment: &Environment, agent: Option<&str>, limit: u32) -> Result<Vec<Event>, Failure> {
    Ok(match Ledger::open_existing(&environment.ledger)? {
        Some(ledger) if agent.is_some() => {
            let which = WhichEvents { agent, ..WhichEvents::default() };
            let most = usize::try_from(limit).unwrap_or(usize::MAX);
            ledger.events(which, most)?.into_iter().map(|(_, event)| event).collect()
        }
        Some(ledger) => ledger.latest_events(limit)?,
        None => vec![],
    })
}

/// Formats an event as one line, without secrets and hidden characters; with its agent where the ledger has several.
pub fn line(event: &Event, relative: bool, several: bool, now: DateTime<Utc>) -> String {
    let Event { at, level, service, message, agent } = event;
    let agent = if several { format!("{} | ", agent.as_deref().unwrap_or("-")) } else { String::new() };
    let at = time::shown(*at, relative, now);
    let line = format!("{at} | {agent}{level} | {} | {message}", service.as_deref().unwrap_or("-"));
    text::line(&line)
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
    agent: Option<&'a str>,
}

impl<'a> EventWire<'a> {
    /// Converts an event.
    pub fn new(event: &'a Event) -> Self {
        Self {
            created_at: event.at.map(time::timestamp),
            level: &event.level,
            service: event.service.as_deref(),
            message: &event.message,
            agent: event.agent.as_deref(),
        }
    }
}
