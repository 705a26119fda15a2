//! Warnings about the session's context: the agent is warned at a few levels of use, once each.

use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::transcript::{PAUSE, WRITTEN_WITHIN};
use crate::context::usage::{self, Awaited, Usage};
use crate::ledger::{Ledger, LedgerError};
use crate::link::lookup::{self, Lookup};
use crate::model::event::HookCall;
use crate::policy::window::{self, Fullness};
use crate::runtime::agent_side;
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::runtime::warning::Warning;

/// The use of the window, in percent, from which the transcript is waited for. Below, a level that is reached at once is
/// reported after the next tools; most sessions never reach it.
const NEAR: u64 = 20;

/// The warning that is due: at a level of at least `least` percent of which the agent has not been warned. A jump over
/// several levels gives the highest.
pub fn due(
    call: &HookCall,
    awaited: Awaited<'_>,
    least: u8,
    environment: &Environment,
    now: DateTime<Utc>,
    warnings: &mut Vec<Warning>,
) -> Option<String> {
    let (session, transcript) = (call.session.as_deref()?, call.transcript.as_deref()?);
    let stated = installation::windows_in_force(environment);
    let usage = match tokens(transcript, awaited, session, &stated, environment) {
        Found::Usage(usage) => usage,
        Found::Nothing => return None,
        Found::Missing => {
            warnings.extend(note_no_record(session, environment, now).err().map(Warning::from));
            return None;
        }
    };
    let fullness = fullness(&usage, transcript, &stated);
    let level = fullness.level().filter(|level| *level >= least)?;
    let is_due = is_due(session, level, environment, now).unwrap_or_else(|error| {
        // Better twice than never.
        warnings.push(Warning::ContextLevel(error));
        true
    });
    let at_end = matches!(awaited, Awaited::Answer(_));
    is_due.then(|| window::warning(level, fullness, installation::tier_in_force(environment), at_end))
}

/// Resets the levels: from now on the agent is warned of each again.
pub fn reset(call: &HookCall, environment: &Environment, now: DateTime<Utc>) -> Result<(), LedgerError> {
    let Some(session) = call.session.as_deref() else { return Ok(()) };
    if warned_level(session, environment)? == 0 {
        return Ok(());
    }
    let mut ledger = Ledger::open(&environment.ledger)?.for_the_record();
    let change = ledger.change()?;
    change.forget_context_level(session, now)?;
    change.commit()
}

/// Reads the transcript of a session, on the agent's machine.
fn tokens(
    transcript: &Path,
    awaited: Awaited<'_>,
    session: &str,
    stated: &[(String, u32)],
    environment: &Environment,
) -> Found {
    let expected = || awaited != Awaited::Nothing && !has_no_record(session, environment);
    if !agent_side::is_remote() {
        return up_to_date(transcript, awaited, stated, || not_yet(transcript) && expected());
    }
    let lookup = Lookup::Tokens {
        transcript: transcript.to_string_lossy().into_owned(),
        awaited: match awaited {
            Awaited::Nothing => lookup::Awaited::Nothing,
            Awaited::Call(id) => lookup::Awaited::Call(id.to_owned()),
            Awaited::Answer(words) => lookup::Awaited::Answer(words.to_owned()),
        },
        windows: stated.to_vec(),
        may_come: expected(),
    };
    agent_side::ask(lookup).unwrap_or(Found::Nothing)
}

/// The client's name of a model, on the agent's machine.
fn client_name(transcript: &Path, model: &str) -> Option<String> {
    if agent_side::is_remote() {
        let transcript = transcript.to_string_lossy().into_owned();
        return agent_side::ask(Lookup::ClientModel { transcript, model: model.to_owned() });
    }
    usage::client_name(transcript, model)
}

/// The result of reading a transcript.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// The tokens of the last answer.
    Usage(Usage),
    /// It contains no usage.
    Nothing,
    /// It was expected and did not appear in time.
    Missing,
}

/// Reads the transcript until it contains the awaited usage, or until the timeout. `may_come` is called once if the
/// transcript does not exist: whether it can still appear.
pub fn up_to_date(
    transcript: &Path,
    awaited: Awaited<'_>,
    stated: &[(String, u32)],
    may_come: impl FnOnce() -> bool,
) -> Found {
    let began = Instant::now();
    let is_near = |Usage { tokens, model }: &Usage| {
        Fullness { tokens: *tokens, window: window::of_model(model, stated, *tokens) }.percent() >= NEAR
    };
    let mut may_come = Some(may_come);
    loop {
        let over = began.elapsed() >= WRITTEN_WITHIN;
        if let Some(look) = usage::look(transcript, awaited) {
            if look.up_to_date || over || !look.usage.as_ref().is_none_or(is_near) {
                return look.usage.map_or(Found::Nothing, Found::Usage);
            }
        } else if may_come.take().is_some_and(|may_come| !may_come()) {
            return Found::Nothing;
        } else if over {
            return Found::Missing;
        }
        sleep(PAUSE);
    }
}

fn fullness(usage: &Usage, transcript: &Path, stated: &[(String, u32)]) -> Fullness {
    let Usage { tokens, model } = usage;
    let of = |model: &str| Fullness { tokens: *tokens, window: window::of_model(model, stated, *tokens) };
    let fullness = of(model);
    // The client's name of the model identifies its window better than the API's name; it is read only if it matters.
    match fullness.level() {
        Some(_) => client_name(transcript, model).map_or(fullness, |name| of(&name)),
        None => fullness,
    }
}

/// Whether a transcript does not exist, but its folder does.
pub fn not_yet(transcript: &Path) -> bool {
    transcript.symlink_metadata().is_err() && transcript.parent().is_some_and(Path::is_dir)
}

/// Whether the session is known to have no transcript; true if the ledger cannot be read.
fn has_no_record(session: &str, environment: &Environment) -> bool {
    let known = || -> Result<bool, LedgerError> {
        Ledger::open_existing(&environment.ledger)?.map_or(Ok(false), |ledger| ledger.has_no_record(session))
    };
    known().unwrap_or(true)
}

fn note_no_record(session: &str, environment: &Environment, now: DateTime<Utc>) -> Result<(), LedgerError> {
    let mut ledger = Ledger::open(&environment.ledger)?.for_the_record();
    let change = ledger.change()?;
    change.note_no_record(session, now)?;
    change.commit()
}

/// Whether the agent has not been warned of the level yet; it then counts as warned.
fn is_due(
    session: &str,
    level: u8,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Result<bool, LedgerError> {
    if warned_level(session, environment)? >= level {
        return Ok(false);
    }
    let mut ledger = Ledger::open(&environment.ledger)?.for_the_record();
    let change = ledger.change()?;
    let is_due = change.raise_context_level(session, level, now)?;
    change.commit()?;
    Ok(is_due)
}

/// The highest level of which the agent was warned, in percent; 0 for none.
fn warned_level(session: &str, environment: &Environment) -> Result<u8, LedgerError> {
    Ledger::open_existing(&environment.ledger)?.map_or(Ok(0), |ledger| ledger.context_level(session))
}
