//! How full the session's context is: the agent is told at a few levels, once each.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use crate::context::usage::{self, Awaited, Usage};
use crate::ledger::{Ledger, LedgerError};
use crate::model::event::HookCall;
use crate::policy::window::{self, Fullness};
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// How long the client is given to bring its record of the session up to date. It was seen to take up to 220 ms.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long between two looks at the record.
const PAUSE: Duration = Duration::from_millis(5);

/// From this share of the window on, in percent, the record is waited for. Below, a level that is reached at one stroke
/// is told after the next tools; most sessions never come so far.
const NEAR: u64 = 20;

/// What the agent is to be told of its context: something where a level from `least` on has been reached that it has not
/// been told of. A jump over several levels is told as the highest.
pub fn news(
    call: &HookCall,
    awaited: Awaited<'_>,
    least: u8,
    environment: &Environment,
    now: DateTime<Utc>,
    notes: &mut Vec<String>,
) -> Option<String> {
    let (session, record) = (call.session.as_deref()?, call.transcript.as_deref()?);
    let stated = installation::windows_in_force(environment);
    let expected = || awaited != Awaited::Nothing && may_come(record, session, environment);
    let usage = match up_to_date(record, awaited, &stated, expected) {
        Found::Usage(usage) => usage,
        Found::Nothing => return None,
        Found::Missing => {
            notes.extend(note_no_record(session, environment, now).err().map(|error| error.to_string()));
            return None;
        }
    };
    let fullness = fullness(&usage, record, &stated);
    let level = fullness.level().filter(|level| *level >= least)?;
    let news = is_news(session, level, environment, now).unwrap_or_else(|error| {
        // Better twice than never.
        notes.push(format!("{error}; the agent may be told twice how full its context is"));
        true
    });
    news.then(|| window::warning(level, fullness, installation::tier_in_force(environment)))
}

/// From the next warning on every level is told again.
pub fn forget(call: &HookCall, environment: &Environment, now: DateTime<Utc>) -> Option<String> {
    let session = call.session.as_deref()?;
    let forget = || {
        if told(session, environment)? == 0 {
            return Ok(());
        }
        let mut ledger = Ledger::open(&environment.db_path)?.for_the_record();
        let change = ledger.change()?;
        change.forget_context_level(session, now)?;
        change.commit()
    };
    forget().err().map(|error: LedgerError| error.to_string())
}

/// What came of looking at a record.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Usage(Usage),
    /// It says nothing of use.
    Nothing,
    /// It was waited for, and did not come.
    Missing,
}

/// What the record says once it holds what is awaited, or what it says when that takes too long. A record that is not
/// there may be about to be written; whether it is, is asked once.
fn up_to_date(
    record: &Path,
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
        let over = began.elapsed() >= PATIENCE;
        if let Some(look) = usage::look(record, awaited) {
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

fn fullness(usage: &Usage, record: &Path, stated: &[(String, u32)]) -> Fullness {
    let Usage { tokens, model } = usage;
    let of = |model: &str| Fullness { tokens: *tokens, window: window::of_model(model, stated, *tokens) };
    let fullness = of(model);
    // The client knows better than the API which window it asked for. It is looked for where it matters.
    match fullness.level() {
        Some(_) => usage::client_name(record, model).map_or(fullness, |name| of(&name)),
        None => fullness,
    }
}

/// Whether a record that is not there can be expected. Where that cannot be written down nobody waits for it each time.
fn may_come(record: &Path, session: &str, environment: &Environment) -> bool {
    let not_yet = record.symlink_metadata().is_err() && record.parent().is_some_and(Path::is_dir);
    let known = || {
        Ledger::open_existing(&environment.db_path)?.map_or(Ok(false), |ledger| ledger.has_no_record(session))
    };
    not_yet && !known().unwrap_or(true)
}

fn note_no_record(session: &str, environment: &Environment, now: DateTime<Utc>) -> Result<(), LedgerError> {
    let mut ledger = Ledger::open(&environment.db_path)?.for_the_record();
    let change = ledger.change()?;
    change.note_no_record(session, now)?;
    change.commit()
}

/// Most often the level has been told before: then nothing is written.
fn is_news(
    session: &str,
    level: u8,
    environment: &Environment,
    now: DateTime<Utc>,
) -> Result<bool, LedgerError> {
    if told(session, environment)? >= level {
        return Ok(false);
    }
    let mut ledger = Ledger::open(&environment.db_path)?.for_the_record();
    let change = ledger.change()?;
    let news = change.raise_context_level(session, level, now)?;
    change.commit()?;
    Ok(news)
}

fn told(session: &str, environment: &Environment) -> Result<u8, LedgerError> {
    Ledger::open_existing(&environment.db_path)?.map_or(Ok(0), |ledger| ledger.context_level(session))
}
