//! Failures of the guard itself. When the ledger cannot be used they are kept in a file beside it, and the
//! next hook that can use it turns them into critical events, so that a person hears of them.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::ledger::decisions::NewDecision;
use crate::ledger::{CallId, Change, LedgerError, time};
use crate::model::event::{Level, NewEvent};
use crate::policy::notices::guard_failed;
use crate::runtime::environment::Environment;
use crate::runtime::notify;

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct FailureWire {
    at: String,
    session: Option<String>,
    message: String,
    #[serde(default)]
    decision: Option<DecisionWire>,
}

#[derive(Serialize, Deserialize)]
struct DecisionWire {
    verdict: String,
    actions: String,
    services: String,
}

/// A decision that could not be written down when it was made.
#[derive(Debug, Clone)]
pub struct Unwritten<'a> {
    /// `fail-open` or `fail-closed`.
    pub verdict: &'a str,
    /// The actions in words.
    pub actions: &'a str,
    /// The services they concern, separated by spaces.
    pub services: String,
}

fn waiting(state_dir: &Path) -> PathBuf {
    state_dir.join("guard-failures.jsonl")
}

fn claimed(state_dir: &Path) -> PathBuf {
    state_dir.join("guard-failures.claimed.jsonl")
}

/// Keeps a failure for later, and tells the operators, unless they have been told of one a moment ago. Returns a line
/// for the log where they cannot be told.
///
/// The ledger is what has failed: it is neither asked nor waited for again.
pub fn report(
    environment: &Environment,
    session: Option<&str>,
    message: &str,
    decision: Option<Unwritten<'_>>,
    now: DateTime<Utc>,
) -> Option<String> {
    let notice = guard_failed(message, session, now);
    let quiet = notice.quiet_until.map_or(TimeDelta::zero(), |until| until - now);
    let told = last_kept(environment).is_some_and(|last| last <= now && now - last < quiet);
    keep(environment, session, message, decision, now);
    if told { None } else { notify::raise_apart(environment, session, &notice, None, now) }
}

/// How many failures wait to be written down: while the ledger cannot be used, nobody else knows of them.
pub fn kept(environment: &Environment) -> usize {
    std::fs::read_to_string(waiting(&environment.state_dir)).map_or(0, |text| text.lines().count())
}

/// When the last failure was kept, of those that wait to be written down.
fn last_kept(environment: &Environment) -> Option<DateTime<Utc>> {
    let text = std::fs::read_to_string(waiting(&environment.state_dir)).ok()?;
    let last: FailureWire = serde_json::from_str(text.lines().next_back()?).ok()?;
    time::read(&last.at)
}

/// Keeps a failure for later. The state folder may be what is broken, so this may fail, too; stderr then
/// has the only word of it.
fn keep(
    environment: &Environment,
    session: Option<&str>,
    message: &str,
    decision: Option<Unwritten<'_>>,
    now: DateTime<Utc>,
) {
    let line = FailureWire {
        at: now.to_rfc3339_opts(SecondsFormat::Secs, true),
        session: session.map(str::to_owned),
        message: message.to_owned(),
        decision: decision.map(|Unwritten { verdict, actions, services }| DecisionWire {
            verdict: verdict.to_owned(),
            actions: actions.to_owned(),
            services,
        }),
    };
    if let Ok(mut line) = serde_json::to_string(&line) {
        line.push('\n');
        // One write, so that lines of two processes do not mix.
        let path = waiting(&environment.state_dir);
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        // A full disk takes a file and nothing in it.
        if written.is_err() && path.metadata().is_ok_and(|file| file.len() == 0) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Writes the kept failures down as events, and says which file to remove once the change is committed.
pub fn write_down(change: &Change<'_>, environment: &Environment) -> Result<Option<PathBuf>, LedgerError> {
    let (waiting, claimed) = (waiting(&environment.state_dir), claimed(&environment.state_dir));
    // A claimed file is left by a process that died; it goes first, and the waiting one next time.
    if !claimed.exists() && (!waiting.exists() || std::fs::rename(&waiting, &claimed).is_err()) {
        return Ok(None);
    }
    let Ok(text) = std::fs::read_to_string(&claimed) else { return Ok(None) };
    for failure in text.lines().filter_map(|line| serde_json::from_str::<FailureWire>(line).ok()) {
        let Some(at) = time::read(&failure.at) else { continue };
        let session = failure.session.as_deref();
        if let Some(DecisionWire { verdict, actions, services }) = &failure.decision
            && ["fail-open", "fail-closed"].contains(&verdict.as_str())
        {
            let call = CallId { session, tool_use: None };
            let (rule, reason) = ("on_failure", &failure.message);
            let decision = NewDecision {
                call,
                tier: None,
                verdict,
                rule,
                actions,
                services,
                budgets: "",
                reason,
                took: None,
            };
            change.note_decision(&decision, at)?;
        }
        let event = NewEvent { level: Level::Critical, service: None, message: failure.message };
        change.add_event(failure.session.as_deref(), &event, at)?;
    }
    Ok(Some(claimed))
}

/// Removes what has been written down. Should it stay, it is written down once more.
pub fn forget(kept: Option<PathBuf>) {
    if let Some(kept) = kept {
        let _ = std::fs::remove_file(kept);
    }
}
