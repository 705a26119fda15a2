//! Notifying the operators. A notice is a row of the ledger, delivered by a detached process: raising one costs a row
//! and a process start, and never waits for the network.

pub mod apprise;
pub mod deliver;
mod question_link;
pub mod session_socket;
mod wire;

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use chrono::{DateTime, Utc};

use crate::ledger::{Ledger, LedgerError};
use crate::model::event::NewEvent;
use crate::model::notice::Notice;
use crate::runtime::environment::Environment;
use crate::runtime::warning::Warning;
use apprise::Target;
use session_socket::Request;
use wire::Raised;

/// Raises a notice: records it, unless its key is still quiet, and has it delivered. If the ledger cannot be used it is
/// delivered unrecorded.
///
/// Within a transaction use [`crate::ledger::Change::raise`], and [`hand_over`] after the commit.
pub fn raise(
    environment: &Environment,
    session: Option<&str>,
    notice: &Notice,
    now: DateTime<Utc>,
) -> Option<Warning> {
    match write_down(environment, session, notice, None, now) {
        Ok(None) => None,
        Ok(Some(id)) => hand_over(environment, id),
        Err(error) => {
            let warning = raise_apart(environment, session, notice, None, now);
            Some(warning.unwrap_or(Warning::UnrecordedNotification(error)))
        }
    }
}

/// Raises a notice and records an event with it, in a detached process: for a hook that the client does not wait for, or
/// whose ledger does not answer.
pub fn raise_apart(
    environment: &Environment,
    session: Option<&str>,
    notice: &Notice,
    event: Option<&NewEvent>,
    now: DateTime<Utc>,
) -> Option<Warning> {
    if event.is_none() {
        // Without a target, there is nothing to do.
        has_target(environment).then_some(())?;
    }
    let raised = Raised {
        session: session.map(str::to_owned),
        at: now,
        notice: notice.clone(),
        event: event.cloned(),
    };
    let text = raised.to_json().map_err(io::Error::from);
    let error = text.and_then(|text| pass_on(environment, &Request::Raised(text))).err()?;
    Some(Warning::NotificationNotSent(error))
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
    let id = change.raise(session, notice, has_target(environment), now)?;
    change.commit()?;
    Ok(id)
}

/// Has a recorded notice delivered. If the delivering process cannot be started, the notice waits for the next flush.
pub fn hand_over(environment: &Environment, id: i64) -> Option<Warning> {
    has_target(environment).then_some(())?;
    let error = pass_on(environment, &Request::Recorded(id)).err()?;
    Some(Warning::NotificationWaits { id, error })
}

/// Whether notices are delivered: to targets of this environment, or through the process that runs this session.
pub fn has_target(environment: &Environment) -> bool {
    environment.notify_socket.is_some() || Target::of(environment).is_some()
}

/// Passes a notice on to the process that runs the session, otherwise to a process of its own.
fn pass_on(environment: &Environment, request: &Request) -> io::Result<()> {
    match (&environment.notify_socket, request) {
        (Some(socket), Request::Recorded(id)) => session_socket::send(socket, &id.to_string()),
        (Some(socket), Request::Raised(text)) => session_socket::send(socket, text),
        (None, request) => deliver_apart(environment, request).map(drop),
    }
}

/// Delivers a notice in a process of its own, to the targets of this environment.
pub fn deliver_apart(environment: &Environment, request: &Request) -> io::Result<Child> {
    let urls = environment.apprise_urls.as_deref().unwrap_or_default();
    match request {
        Request::Recorded(id) => start(&id.to_string(), urls, ""),
        Request::Raised(text) => start("-", urls, text),
    }
}

/// Starts the delivering process in a process group of its own, so that it survives the hook and signals to its group.
/// It reads the targets and the notice from stdin: other processes could read its environment.
fn start(what: &str, urls: &str, notice: &str) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["notify", "--deliver", what]).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    command.env_remove("CLAUDEOPS_APPRISE_URLS").stdin(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // The pipe's buffer is larger than targets and a notice, so this does not block.
        stdin.write_all(format!("{}\n{notice}", urls.replace('\n', " ")).as_bytes())?;
    }
    Ok(child)
}
