//! Telling the operators. A notice is written into the ledger and delivered by a process of its own, so that
//! whoever raises it pays for a row and a start, and never waits for a network.

pub mod apprise;
pub mod deliver;
mod wire;

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use chrono::{DateTime, Utc};

use crate::ledger::{Ledger, LedgerError};
use crate::model::event::NewEvent;
use crate::model::notice::Notice;
use crate::runtime::environment::Environment;
use apprise::Target;
use wire::Raised;

/// Raises a notice: writes it down, unless the same has been told and is still quiet, and has it delivered. With a
/// ledger that cannot be used it is delivered all the same. Returns a line for the log where something is amiss.
///
/// Within a change that is under way, use [`crate::ledger::Change::raise`] and, once it is committed, [`hand_over`].
pub fn raise(
    environment: &Environment,
    session: Option<&str>,
    notice: &Notice,
    now: DateTime<Utc>,
) -> Option<String> {
    match write_down(environment, session, notice, None, now) {
        Ok(None) => None,
        Ok(Some(id)) => hand_over(environment, id),
        Err(error) => {
            let note = raise_apart(environment, session, notice, None, now);
            Some(note.unwrap_or_else(|| format!("{error}; the notification is not written down")))
        }
    }
}

/// Raises a notice, and writes an event down with it, in a process of its own: for a hook that is not waited for, or
/// whose ledger does not answer. Returns a line for the log where it cannot be started.
pub fn raise_apart(
    environment: &Environment,
    session: Option<&str>,
    notice: &Notice,
    event: Option<&NewEvent>,
    now: DateTime<Utc>,
) -> Option<String> {
    if event.is_none() {
        // Nothing would be left to do.
        Target::of(environment)?;
    }
    let raised = Raised {
        session: session.map(str::to_owned),
        at: now,
        notice: notice.clone(),
        event: event.cloned(),
    };
    let text = raised.to_json().map_err(io::Error::from);
    let error = text.and_then(|text| start("-", Some(&text))).err()?;
    Some(format!("notification not sent: opsctl cannot be started ({error})"))
}

fn write_down(
    environment: &Environment,
    session: Option<&str>,
    notice: &Notice,
    event: Option<&NewEvent>,
    now: DateTime<Utc>,
) -> Result<Option<i64>, LedgerError> {
    let mut ledger = Ledger::open(&environment.db_path)?;
    let change = ledger.change()?;
    if let Some(event) = event {
        change.add_event_once(session, event, now)?;
    }
    let id = change.raise(session, notice, Target::of(environment).is_some(), now)?;
    change.commit()?;
    Ok(id)
}

/// Has a notice delivered that is written down. Where it cannot be handed over it waits for the next flush.
pub fn hand_over(environment: &Environment, id: i64) -> Option<String> {
    Target::of(environment)?;
    let error = start(&id.to_string(), None).err()?;
    Some(format!(
        "notification {id} waits: opsctl cannot be started ({error}); send it with `opsctl notify --flush`"
    ))
}

/// Starts the process that delivers, in a group of its own: it outlives the hook, and what ends the hook's group.
fn start(what: &str, input: Option<&str>) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["notify", "--deliver", what]).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn()?;
    match (child.stdin.take(), input) {
        // A pipe holds more than a notice may have, so nobody is waited for.
        (Some(mut stdin), Some(input)) => stdin.write_all(input.as_bytes()),
        _ => Ok(()),
    }
}
