//! `opsctl handoff`: writes, checks and takes hand-overs.

use std::io::Read as _;
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use clap::{Args, Subcommand};

use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::notify;
use crate::machine::records;
use crate::machine::runner::RunnerEnvironment;
use crate::sessions::handoff;
use crate::sessions::handoff::desk::Desk;
use crate::sessions::handoff::{Handoff, HandoffError, MAX_BYTES};
use crate::verbs::facts::Facts;
use crate::verbs::setup::services;
use crate::verbs::terminal::{FAILED, Failure, OK, complain, complain_all, print};
use opsctl_ledger::Source;
use opsctl_policy::model::records::event::{Level, NewEvent};
use opsctl_policy::model::records::notice::{Body, Notice};
use opsctl_policy::model::rights::policy::Tier;

/// Write, check and take the hand-over of a session to a higher tier
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl handoff                          # show the hand-over
  opsctl handoff write < handoff.json     # check, then write it
  next=$(opsctl handoff take --from 1)    # prints 2 or 3
  opsctl handoff clear                    # at the start of a round")]
pub struct HandoffArgs {
    #[command(subcommand)]
    verb: Option<HandoffVerb>,
}

#[derive(Debug, Subcommand)]
enum HandoffVerb {
    /// Show the hand-over
    #[command(after_help = "Examples:
  opsctl handoff show")]
    Show,
    /// Check the hand-over
    #[command(after_help = "Examples:
  opsctl handoff check --from 1")]
    Check(From),
    /// Write the hand-over on stdin, if it is valid
    #[command(after_help = "Examples:
  opsctl handoff write < handoff.json")]
    Write(From),
    /// Take the hand-over: print the next tier, or why it is not followed
    #[command(after_help = "Examples:
  next=$(opsctl handoff take --from 1)")]
    Take(From),
    /// Remove hand-overs of an earlier round
    #[command(after_help = "Examples:
  opsctl handoff clear")]
    Clear,
}

#[derive(Debug, Args)]
struct From {
    /// The tier that hands over; default: `CLAUDEOPS_TIER`, else 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    from: Option<u8>,
}

impl From {
    fn tier(&self, environment: &Environment) -> Tier {
        self.from.and_then(Tier::from_number).or(environment.tier).unwrap_or(Tier::Observe)
    }
}

/// The facts of the verbs.
pub const FACTS: &[Facts] = &[
    Facts::reads("handoff").with_state(),
    Facts::reads("handoff show").with_state(),
    Facts::reads("handoff check").with_state(),
    // How a tier passes on what it may not do itself.
    Facts::changes("handoff write").with_state(),
    Facts::operator("handoff take").with_state(),
    Facts::operator("handoff clear").with_state(),
];

/// Runs the verb.
pub fn run(args: &HandoffArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    let runner = RunnerEnvironment::of_process();
    complain_all(environment.warnings.iter().chain(&runner.warnings));
    let desk = Desk::new(&environment.state_dir, &environment.results_dir());
    match &args.verb {
        None | Some(HandoffVerb::Show) => show(&desk),
        Some(HandoffVerb::Check(from)) => check(&desk, from.tier(&environment)),
        Some(HandoffVerb::Write(from)) => write(&desk, from.tier(&environment), &environment),
        Some(HandoffVerb::Take(from)) => take(&desk, from.tier(&environment), &environment, &runner),
        Some(HandoffVerb::Clear) => {
            if desk.clear()? {
                complain("removed a hand-over of an earlier round");
            }
            Ok(OK)
        }
    }
}

fn show(desk: &Desk) -> Result<u8, Failure> {
    match desk.look(Tier::Observe) {
        None => print("there is no hand-over\n"),
        Some(handoff) => print(&format!("{}\n", handoff?.text)),
    }
    Ok(OK)
}

fn check(desk: &Desk, from: Tier) -> Result<u8, Failure> {
    let handoff = desk.look(from).ok_or_else(|| Failure::new("there is no hand-over"))??;
    print(&format!("{}\n", in_words(&handoff)));
    Ok(OK)
}

fn write(desk: &Desk, from: Tier, environment: &Environment) -> Result<u8, Failure> {
    let mut text = Vec::new();
    // One byte more than allowed shows that the text is too long.
    std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(HandoffError::TooLarge(text.len() as u64).into());
    }
    let checked =
        handoff::check(&text, from).and_then(|handoff| handoff.handed_over_by(environment.shell_session()));
    if let Err(error @ HandoffError::HighestTier(_)) = &checked {
        // No session follows that could report it.
        let session = environment.shell_session();
        announce(environment, session, from, &refused(from, error), None, Utc::now());
    }
    let handoff = checked?;
    let inventory = installation::in_force(environment, &mut vec![]).installation.inventory;
    for service in &handoff.services {
        // The next session can act on a service that is not listed, too.
        let remedy = "correct it and hand over again, or go on if that is its name";
        if let Err(unknown) = services::known(environment, &inventory, service, remedy) {
            complain(unknown);
        }
    }
    desk.put(&handoff.text).map_err(|error| {
        let remedy = "name a writable folder with CLAUDEOPS_STATE_DIR";
        Failure::unwritable(&desk.open_file(), &error, remedy)
    })?;
    // If this fails, the session is asked for a report.
    let noted = environment.shell_session().map(|id| records::note_report(environment, id, Utc::now()));
    complain_all(noted.and_then(Result::err));
    print(&format!("{}; end the session now\n", in_words(&handoff)));
    Ok(OK)
}

fn in_words(handoff: &Handoff) -> String {
    format!("handed over to tier {}: {}", handoff.to.number(), handoff.services.join(", "))
}

/// The event of a hand-over that is not valid, or that no session can follow.
fn refused(from: Tier, error: &HandoffError) -> NewEvent {
    let message = match error {
        HandoffError::HighestTier(_) => format!("Needs attention: {error}"),
        _ => format!("Needs attention: hand-over of tier {} refused: {error}", from.number()),
    };
    NewEvent { level: Level::Critical, service: None, message: opsctl_redact::text(&message).into_owned() }
}

/// Takes the hand-over, and records as an event whether it is followed.
fn take(
    desk: &Desk,
    from: Tier,
    environment: &Environment,
    runner: &RunnerEnvironment,
) -> Result<u8, Failure> {
    let Some(found) = desk.look(from) else { return Ok(FAILED) };
    let now = Utc::now();
    let stated = found.as_ref().ok().and_then(|handoff| handoff.from_session.as_deref());
    // The session that the hand-over names, otherwise the latest session of the tier.
    let parent = records::latest_run(environment, from, stated, Utc::now()).unwrap_or_else(|error| {
        complain(error);
        None
    });
    let event = |level, handoff: &Handoff, message: String| NewEvent {
        level,
        service: match handoff.services.as_slice() {
            [service] => Some(service.clone()),
            _ => None,
        },
        message: opsctl_redact::text(&message).into_owned(),
    };
    let (followed, event) = match &found {
        Err(error) => (None, refused(from, error)),
        Ok(handoff) if runner.dry_run => {
            let message = format!("Not followed in a dry run: {}", in_words(handoff));
            let would = would_have_handed_over(handoff, parent.as_deref(), now);
            complain_all(notify::raise(environment, parent.as_deref(), &would, now));
            (None, event(Level::Info, handoff, message))
        }
        Ok(handoff) if handoff.to > runner.max_tier => {
            let max_tier = runner.max_tier.number();
            let message =
                format!("Needs attention: {}, but CLAUDEOPS_MAX_TIER is {max_tier}", in_words(handoff));
            (None, event(Level::Critical, handoff, message))
        }
        Ok(handoff) => {
            let linked = handoff.handed_over_by(parent.as_deref()).unwrap_or_else(|_| handoff.clone());
            let message = format!("Tier {} {}", from.number(), in_words(handoff));
            (Some(linked), event(Level::Info, handoff, message))
        }
    };
    let copy = desk.take(followed.as_ref(), now)?;
    announce(environment, parent.as_deref(), from, &event, copy.as_deref(), now);
    match followed {
        Some(handoff) => {
            print(&format!("{}\n", handoff.to.number()));
            Ok(OK)
        }
        None => Ok(FAILED),
    }
}

/// The notice of the findings of a dry run.
fn would_have_handed_over(handoff: &Handoff, session: Option<&str>, now: DateTime<Utc>) -> Notice {
    let (tier, services) = (handoff.to.number(), handoff.services.join(", "));
    let mut body = format!("Would have handed over to tier {tier}: {services}.\n\n");
    body.extend(handoff.text.lines().map(|line| format!("    {line}\n")));
    body.extend(session.map(|session| format!("\nSession {session}.\n")));
    Notice {
        key: format!("handoff/dry-run/{tier}/{services}"),
        // The next round is likely to find the same.
        quiet_until: Some(now + TimeDelta::hours(4)),
        level: Level::Warning,
        title: format!("opsctl: dry run, would have handed over to tier {tier}"),
        body: Body::Plain(opsctl_redact::text(&body).into_owned()),
        tags: ["handoff".to_owned()].into_iter().chain(handoff.services.iter().cloned()).collect(),
    }
}

/// Records the event, prints it, and notifies the operators if something is wrong with the hand-over.
fn announce(
    environment: &Environment,
    session: Option<&str>,
    from: Tier,
    event: &NewEvent,
    copy: Option<&Path>,
    now: DateTime<Utc>,
) {
    complain_all(records::add_event(environment, Source::Runner, session, event, now).err());
    complain(&event.message);
    if event.level == Level::Info {
        return;
    }
    let copy = copy.map(|copy| format!("\n\nThe hand-over: {}", copy.display())).unwrap_or_default();
    let notice = Notice {
        key: format!("handoff/{}", event.message),
        // The next round is likely to fail the same way.
        quiet_until: Some(now + TimeDelta::hours(4)),
        level: event.level,
        title: format!("opsctl: a hand-over of tier {} needs human attention", from.number()),
        body: Body::Plain(event.message.clone() + &copy),
        tags: ["handoff".to_owned()].into_iter().chain(event.service.clone()).collect(),
    };
    complain_all(notify::raise(environment, session, &notice, now));
}
