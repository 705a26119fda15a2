//! Warnings about the session's context: the agent is warned at a few levels of use, once each.

use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::hooks::context::usage::{self, Usage};
use crate::hooks::transcript::{PAUSE, WRITTEN_WITHIN};
use crate::machine::agent_side::AgentSide;
use crate::machine::installation;
use crate::machine::link::lookup::{Awaited, Lookup};
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use opsctl_ledger::{Ledger, Result};
use opsctl_policy::budgets::window::{self, Fullness};
use opsctl_policy::model::records::event::HookCall;

/// The use of the window, in percent, from which the transcript is waited for. Below, a level that is reached at once is
/// reported after the next tools; most sessions never reach it.
const NEAR: u64 = 20;

/// The warning that is due: at a level of at least `least` percent of which the agent has not been warned. A jump over
/// several levels gives the highest.
pub fn due(
    call: &HookCall,
    awaited: &Awaited,
    least: u8,
    request: &Request,
    warnings: &mut Vec<Warning>,
) -> Option<String> {
    let (session, transcript) = (call.session.as_deref()?, call.transcript.as_deref()?);
    let stated = installation::windows_in_force(request);
    let usage = match tokens(transcript, awaited, session, &stated, request) {
        TranscriptUsage::Usage(usage) => usage,
        TranscriptUsage::Nothing => return None,
        TranscriptUsage::Missing => {
            let noted = Ledger::note(&request.ledger, |change| change.note_no_record(session, request.now));
            warnings.extend(noted.err().map(Warning::from));
            return None;
        }
    };
    let fullness = fullness(&usage, transcript, &stated, &request.agent);
    let level = fullness.level().filter(|level| *level >= least)?;
    let is_due = is_due(session, level, request).unwrap_or_else(|error| {
        // Better twice than never.
        warnings.push(Warning::ContextLevel(error));
        true
    });
    let at_end = matches!(awaited, Awaited::Answer(_));
    is_due.then(|| window::warning(level, fullness, installation::tier_in_force(request), at_end))
}

/// Resets the levels: from now on the agent is warned of each again.
pub fn reset(call: &HookCall, request: &Request) -> Result<()> {
    let Some(session) = call.session.as_deref() else { return Ok(()) };
    if warned_level(session, request)? == 0 {
        return Ok(());
    }
    Ledger::note(&request.ledger, |change| change.forget_context_level(session, request.now))
}

/// Reads the transcript of a session, on the agent's machine.
fn tokens(
    transcript: &Path,
    awaited: &Awaited,
    session: &str,
    stated: &[(String, u32)],
    request: &Request,
) -> TranscriptUsage {
    let expected = || *awaited != Awaited::Nothing && !has_no_record(session, request);
    let lookup = || Lookup::Tokens {
        transcript: transcript.to_string_lossy().into_owned(),
        awaited: awaited.clone(),
        windows: stated.to_vec(),
        may_come: expected(),
    };
    let here = || Some(up_to_date(transcript, awaited, stated, || not_yet(transcript) && expected()));
    request.agent.find(lookup, here).unwrap_or(TranscriptUsage::Nothing)
}

/// The result of reading a transcript.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptUsage {
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
    awaited: &Awaited,
    stated: &[(String, u32)],
    may_come: impl FnOnce() -> bool,
) -> TranscriptUsage {
    let began = Instant::now();
    let is_near = |Usage { tokens, model }: &Usage| {
        Fullness { tokens: *tokens, window: window::of_model(model, stated, *tokens) }.percent() >= NEAR
    };
    let mut may_come = Some(may_come);
    loop {
        let over = began.elapsed() >= WRITTEN_WITHIN;
        if let Some(look) = usage::look(transcript, awaited) {
            if look.up_to_date || over || !look.usage.as_ref().is_none_or(is_near) {
                return look.usage.map_or(TranscriptUsage::Nothing, TranscriptUsage::Usage);
            }
        } else if may_come.take().is_some_and(|may_come| !may_come()) {
            return TranscriptUsage::Nothing;
        } else if over {
            return TranscriptUsage::Missing;
        }
        sleep(PAUSE);
    }
}

fn fullness(usage: &Usage, transcript: &Path, stated: &[(String, u32)], agent: &AgentSide) -> Fullness {
    let Usage { tokens, model } = usage;
    let of = |model: &str| Fullness { tokens: *tokens, window: window::of_model(model, stated, *tokens) };
    let fullness = of(model);
    // The client's name of the model identifies its window better than the API's name; it is read only if it matters.
    let lookup = || {
        let transcript = transcript.to_string_lossy().into_owned();
        Lookup::ClientModel { transcript, model: model.clone() }
    };
    let name = || agent.find(lookup, || usage::client_name(transcript, model));
    fullness.level().and_then(|_| name()).map_or(fullness, |name| of(&name))
}

/// Whether a transcript does not exist, but its folder does.
pub fn not_yet(transcript: &Path) -> bool {
    transcript.symlink_metadata().is_err() && transcript.parent().is_some_and(Path::is_dir)
}

/// Whether the session is known to have no transcript; true if the ledger cannot be read.
fn has_no_record(session: &str, request: &Request) -> bool {
    Ledger::read_at(&request.ledger, |ledger| ledger.has_no_record(session)).unwrap_or(true)
}

/// Whether the agent has not been warned of the level yet; it then counts as warned.
fn is_due(session: &str, level: u8, request: &Request) -> Result<bool> {
    if warned_level(session, request)? >= level {
        return Ok(false);
    }
    Ledger::note(&request.ledger, |change| change.raise_context_level(session, level, request.now))
}

/// The highest level of which the agent was warned, in percent; 0 for none.
fn warned_level(session: &str, request: &Request) -> Result<u8> {
    Ledger::read_at(&request.ledger, |ledger| ledger.context_level(session))
}
