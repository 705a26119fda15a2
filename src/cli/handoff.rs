//! `opsctl handoff`: writes, checks and takes hand-overs.

use std::io::Read as _;

use chrono::{TimeDelta, Utc};
use clap::{Args, Subcommand};

use super::exit_code::{FAILED, OK};
use super::failure::Failure;
use super::output::{complain, complain_all, print};
use crate::ledger::{Ledger, Source};
use crate::model::event::{Level, NewEvent};
use crate::model::notice::{Body, Notice};
use crate::model::policy::Tier;
use crate::redact;
use crate::runtime::environment::Environment;
use crate::runtime::notify;
use crate::runtime::runner::RunnerEnvironment;
use crate::session::handoff::desk::Desk;
use crate::session::handoff::{self, Handoff, HandoffError, MAX_BYTES};

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
    let handoff = desk.look(from).ok_or(Failure::NothingHandedOver)??;
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
    let handoff = handoff::check(&text, from)?;
    desk.put(&handoff).map_err(|error| Failure::Unwritable {
        path: desk.open_file(),
        error,
        remedy: "name a writable folder with CLAUDEOPS_STATE_DIR",
    })?;
    note_report(environment);
    print(&format!("{}; end the session now\n", in_words(&handoff)));
    Ok(OK)
}

/// Records that the session has reported. If this fails, the session is asked for a report.
fn note_report(environment: &Environment) {
    let Some(session) = environment.shell_session() else { return };
    let noted = Ledger::open(&environment.db_path).and_then(|ledger| {
        let mut ledger = ledger.for_the_record();
        let change = ledger.change()?;
        change.note_report(session, Utc::now())?;
        change.commit()
    });
    if let Err(error) = noted {
        complain(error);
    }
}

fn in_words(handoff: &Handoff) -> String {
    format!("handed over to tier {}: {}", handoff.to.number(), handoff.services.join(", "))
}

/// Takes the hand-over, and records as an event whether it is followed.
fn take(
    desk: &Desk,
    from: Tier,
    environment: &Environment,
    runner: &RunnerEnvironment,
) -> Result<u8, Failure> {
    let Some(found) = desk.look(from) else { return Ok(FAILED) };
    let (followed, level, message) = match &found {
        Err(error) => (None, Level::Warning, format!("Hand-over of tier {} refused: {error}", from.number())),
        Ok(handoff) if runner.dry_run => {
            (None, Level::Info, format!("Not followed in a dry run: {}", in_words(handoff)))
        }
        Ok(handoff) if handoff.to > runner.max_tier => (
            None,
            Level::Critical,
            format!(
                "Needs attention: {}, but CLAUDEOPS_MAX_TIER is {}",
                in_words(handoff),
                runner.max_tier.number()
            ),
        ),
        Ok(handoff) => (Some(handoff), Level::Info, format!("Tier {} {}", from.number(), in_words(handoff))),
    };
    let message = redact::text(&message).into_owned();
    let service = found.as_ref().ok().and_then(|handoff| match handoff.services.as_slice() {
        [service] => Some(service.clone()),
        _ => None,
    });
    let event = NewEvent { level, service, message };
    let now = Utc::now();
    let noted = Ledger::open(&environment.db_path).and_then(|mut ledger| {
        let change = ledger.change()?;
        change.add_event_from(Source::Runner, None, &event, now)?;
        change.commit()
    });
    if let Err(error) = noted {
        complain(error);
    }
    complain(&event.message);
    if event.level > Level::Info {
        let notice = Notice {
            key: format!("handoff/{}", event.message),
            // The next round is likely to fail the same way.
            quiet_until: Some(now + TimeDelta::hours(4)),
            level: event.level,
            title: format!("Claude Ops: a hand-over of tier {} was not followed", from.number()),
            body: Body::Plain(event.message.clone()),
            tags: ["handoff".to_owned()].into_iter().chain(event.service.clone()).collect(),
        };
        if let Some(warning) = notify::raise(environment, None, &notice, now) {
            complain(warning);
        }
    }
    desk.take(followed, now)?;
    match followed {
        Some(handoff) => {
            print(&format!("{}\n", handoff.to.number()));
            Ok(OK)
        }
        None => Ok(FAILED),
    }
}
