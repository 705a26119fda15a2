//! `opsctl events`: lists events.

use std::iter;

use chrono::{DateTime, Utc};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::verbs::facts::Facts;
use crate::verbs::setup::services;
use crate::verbs::terminal::{Failure, Listing, OK, Pages, environment_in_force, limited, time};
use opsctl_ledger::records::decisions::{Decision, Which};
use opsctl_ledger::{Event, Ledger};
use opsctl_policy::model::records::event::Level;

#[expect(clippy::struct_excessive_bools, reason = "each is a flag on the command line")]
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
    #[arg(long, value_parser = levels())]
    level: Option<String>,
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
    /// Print all events and denials, oldest first, one in a line
    #[arg(long, conflicts_with_all = ["limit", "follow"])]
    all: bool,
    /// Print oldest first, then wait for new events
    #[arg(long)]
    follow: bool,
    /// Print relative times
    #[arg(long)]
    relative: bool,
    /// Print JSON; with `--follow` and `--all` one object per line
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("events").in_guard(&["--follow", "--all"]).with_ledger()];

/// The level of denied commands.
const DENIED: &str = "denied";

fn levels() -> PossibleValuesParser {
    let levels =
        [Level::Info, Level::Warning, Level::Critical].map(|level| PossibleValue::new(level.as_str()));
    levels.into_iter().chain([PossibleValue::new(DENIED).help("A denied command")]).into()
}

/// Runs the verb.
pub fn run(args: &EventsArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let inventory = installation::in_force(&environment, &mut vec![]).installation.inventory;
    let service = services::asked(&environment, &inventory, args.service.as_deref())?;
    let mut source = Source {
        environment: &environment,
        which: Which {
            service: service.as_deref(),
            level: args.level.as_deref(),
            session: args.session.as_deref(),
            since: args.since,
            after: args.follow.then_some(0),
            agent: args.agent.as_deref(),
            ..Which::default()
        },
        after_denial: None,
    };
    let listing = Listing {
        what: "events",
        titles: ["TIME", "LEVEL", "SERVICE", "MESSAGE"],
        cells: &|event| cells(event, args.relative, Utc::now()),
        agent_of: |event: &Event| event.agent.as_deref(),
        agent: args.agent.as_deref(),
        json: args.json,
    };
    if args.follow {
        return listing.follow(limited(args.limit), &environment, |limit| source.next(limit));
    }
    if args.all {
        let Some(ledger) = Ledger::open_existing(&environment.ledger)? else { return Ok(OK) };
        return listing.all(&environment, source.all(&ledger)?);
    }
    listing.print(&source.next(limited(args.limit))?, &environment)
}

/// Events, and denials as events of the level [`DENIED`].
struct Source<'a> {
    environment: &'a Environment,
    which: Which<'a>,
    /// The row id of the last denial that was read.
    after_denial: Option<i64>,
}

impl Source<'_> {
    /// The next events, newest first, at most this many.
    fn next(&mut self, limit: u32) -> Result<Vec<Event>, Failure> {
        let Some(ledger) = Ledger::open_existing(&self.environment.ledger)? else { return Ok(vec![]) };
        let mut found = Vec::new();
        if self.which.level.is_none_or(|level| level == DENIED) {
            let which = Which { verdict: Some("deny"), after: self.after_denial, ..self.which };
            let denials = ledger.decisions(which, limit)?;
            self.after_denial = denials.first().map(|denial| denial.id).or(self.after_denial);
            found.extend(denials.into_iter().map(denied));
        }
        let events = ledger.events(self.which, limit)?;
        self.which.after = self.which.after.map(|after| events.first().map_or(after, |event| event.id));
        found.extend(events);
        // Of two in one second, the denial is the newer one.
        found.sort_by_key(|event| std::cmp::Reverse(event.at));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    }

    /// All events, oldest first.
    fn all(&self, ledger: &Ledger) -> Result<impl Iterator<Item = Result<Event, Failure>>, Failure> {
        let which = self.which;
        let with_denials = which.level.is_none_or(|level| level == DENIED);
        let last_denial = if with_denials { ledger.last_decision()? } else { 0 };
        let denials = Pages::up_to(last_denial, move |after, through| {
            let which = Which { verdict: Some("deny"), after: Some(after), through: Some(through), ..which };
            Ok(ledger.decisions(which, u32::MAX)?.into_iter().map(denied).collect())
        });
        let events = Pages::up_to(ledger.last_event()?, move |after, through| {
            Ok(ledger.events(Which { after: Some(after), through: Some(through), ..which }, u32::MAX)?)
        });
        // An error has no time and comes first. Of two in one second, the denial is the newer one.
        let at = |event: &Result<Event, Failure>| event.as_ref().ok().and_then(|event| event.at);
        let (mut events, mut denials) = (events.peekable(), denials.peekable());
        Ok(iter::from_fn(move || match (events.peek(), denials.peek()) {
            (Some(event), Some(denial)) if at(event) > at(denial) => denials.next(),
            (None, _) => denials.next(),
            _ => events.next(),
        }))
    }
}

fn denied(decision: Decision) -> Event {
    Event {
        id: decision.id,
        at: decision.at,
        level: DENIED.to_owned(),
        service: Some(decision.services).filter(|services| !services.is_empty()),
        message: decision.reason,
        agent: decision.agent,
        session: decision.session,
    }
}

/// The cells of an event; `-` for the service that it does not have.
pub fn cells(event: &Event, relative: bool, now: DateTime<Utc>) -> [String; 4] {
    let Event { at, level, service, message, .. } = event;
    let service = service.clone().unwrap_or_else(|| "-".to_owned());
    [time::shown(*at, relative, now), level.clone(), service, message.clone()]
}
