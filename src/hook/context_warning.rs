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
const NEAR: u64 = 40;

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
    let fullness = fullness(call.transcript.as_deref()?, awaited, environment)?;
    let level = fullness.level().filter(|level| *level >= least)?;
    let session = call.session.as_deref()?;
    let news = is_news(session, level, environment, now).unwrap_or_else(|error| {
        // Better twice than never.
        notes.push(format!("{error}; the agent may be told twice how full its context is"));
        true
    });
    news.then(|| window::warning(level, fullness, environment.tier))
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

fn fullness(record: &Path, awaited: Awaited<'_>, environment: &Environment) -> Option<Fullness> {
    let began = Instant::now();
    let stated = installation::windows_in_force(environment);
    let of = |model: &str, tokens| Fullness { tokens, window: window::of_model(model, &stated, tokens) };
    let Usage { tokens, model } = loop {
        let look = usage::look(record, awaited)?;
        let near = look.usage.as_ref().is_none_or(|usage| of(&usage.model, usage.tokens).percent() >= NEAR);
        if look.up_to_date || !near || began.elapsed() >= PATIENCE {
            break look.usage?;
        }
        sleep(PAUSE);
    };
    let fullness = of(&model, tokens);
    // The client knows better than the API which window it asked for. It is looked for where it matters.
    match fullness.level() {
        Some(_) => Some(usage::client_name(record, &model).map_or(fullness, |name| of(&name, tokens))),
        None => Some(fullness),
    }
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
