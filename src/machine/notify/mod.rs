//! Notifying the operators. A notice is a row of the ledger, delivered by a detached process: raising one costs a row
//! and a process start, and never waits for the network.

pub mod apprise;
pub mod deliver;
pub mod session_socket;
mod wire;

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};

use crate::machine::environment::Environment;
use crate::machine::guard_link;
use crate::machine::link::address::Address;
use crate::machine::link::message::{Call, Reply};
use crate::machine::warning::Warning;
use apprise::Target;
use opsctl_ledger::{Ledger, Result};
use opsctl_machine::held_variables;
use opsctl_policy::model::records::event::NewEvent;
use opsctl_policy::model::records::notice::Notice;
use session_socket::Request;
use wire::DeliverError;
pub use wire::Raised;

/// Raises a notice: records it, unless its key is still quiet, and has it delivered. If the ledger cannot be used it is
/// delivered unrecorded.
///
/// Within a transaction use [`opsctl_ledger::Change::raise`], and [`hand_over`] after the commit.
pub fn raise(
    environment: &Environment,
    session: Option<&str>,
    notice: &Notice,
    now: DateTime<Utc>,
) -> Option<Warning> {
    let raised = Raised::new(session, notice, None, now);
    if environment.guard.is_some() {
        return pass_apart(environment, &raised);
    }
    match write_down(environment, &raised) {
        Ok(None) => None,
        Ok(Some(id)) => hand_over(environment, id),
        Err(error) => {
            let warning = pass_apart(environment, &raised);
            Some(warning.unwrap_or(Warning::UnrecordedNotification(error)))
        }
    }
}

/// Records a notice that the agent's side has raised, with its event, and has it delivered. `check` marks and bounds what it
/// states.
pub fn accept(
    environment: &Environment,
    text: &str,
    check: &dyn Fn(Raised) -> Result<Raised, String>,
) -> Result<Option<Warning>, DeliverError> {
    let raised = Raised::from_json(text)?;
    let raised = Raised { at: Utc::now(), ..check(raised).map_err(DeliverError::Stated)? };
    let id = write_down(environment, &raised)?;
    Ok(id.and_then(|id| hand_over(environment, id)))
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
    pass_apart(environment, &Raised::new(session, notice, event, now))
}

fn pass_apart(environment: &Environment, raised: &Raised) -> Option<Warning> {
    if raised.event.is_none() {
        // Without a target, there is nothing to do.
        has_target(environment).then_some(())?;
    }
    let text = raised.to_json().map_err(io::Error::from);
    if let Some(guard) = &environment.guard {
        return text.map_or_else(
            |error| Some(Warning::NotificationNotSent(error)),
            |text| send_to_guard(guard, &text, environment),
        );
    }
    let error = text.and_then(|text| pass_on(environment, &Request::Raised(text))).err()?;
    Some(Warning::NotificationNotSent(error))
}

fn write_down(environment: &Environment, raised: &Raised) -> Result<Option<i64>> {
    let (session, at) = (raised.session.as_deref(), raised.at);
    Ledger::write(&environment.ledger, |change| {
        if let Some(event) = &raised.event {
            change.add_event_once(session, event, at)?;
        }
        change.raise(session, &raised.notice, has_target(environment), at)
    })
}

/// Has a recorded notice delivered. If the delivering process cannot be started, the notice waits for the next flush.
pub fn hand_over(environment: &Environment, id: i64) -> Option<Warning> {
    has_target(environment).then_some(())?;
    let error = pass_on(environment, &Request::Recorded(id)).err()?;
    Some(Warning::NotificationWaits { id, error })
}

/// Has the guard record and deliver a notice.
fn send_to_guard(guard: &Address, text: &str, environment: &Environment) -> Option<Warning> {
    let look = &mut |_: &_| serde_json::Value::Null;
    let sent = guard_link::call(guard, Call::Notice, text.as_bytes(), environment, guard_link::QUICK, look);
    match sent {
        Ok(Reply::Value(warning)) => warning.as_str().map(|warning| Warning::OfGuard(warning.to_owned())),
        Ok(_) => Some(Warning::NotSentToGuard(guard_link::unexpected())),
        Err(error) => Some(Warning::NotSentToGuard(error)),
    }
}

/// Whether notices are delivered: to targets of this environment, or through the process that runs this session.
pub fn has_target(environment: &Environment) -> bool {
    environment.guard.is_some() || environment.notify_socket.is_some() || Target::of(environment).is_some()
}

/// Passes a notice on to the process that runs the session, otherwise to a process of its own.
fn pass_on(environment: &Environment, request: &Request) -> io::Result<()> {
    match &environment.notify_socket {
        Some(socket) => session_socket::send(socket, &request.text()),
        None => deliver_apart(environment, request).map(keep),
    }
}

/// Keeps a started process until it has ended: a guard serves for a long time, and a process that has ended exists until
/// its parent asks for its exit code.
fn keep(child: Child) {
    static STARTED: Mutex<Vec<Child>> = Mutex::new(Vec::new());
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    started.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    started.push(child);
}

/// Delivers a notice in a process of its own, to the targets of this environment. Its process group is its own, too, so that
/// it survives the hook and signals to its group. It reads the targets and the notice from stdin: other processes could read
/// its environment.
pub fn deliver_apart(environment: &Environment, request: &Request) -> io::Result<Child> {
    let urls = environment.apprise_urls.as_deref().unwrap_or_default();
    let (what, notice) = match request {
        Request::Recorded(id) => (id.to_string(), ""),
        Request::Raised(text) => ("-".to_owned(), text.as_str()),
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["notify", "--deliver", &what]).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    for name in held_variables::NAMES {
        command.env_remove(name);
    }
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // The pipe's buffer is larger than targets and a notice, so this does not block.
        stdin.write_all(format!("{}\n{notice}", urls.replace('\n', " ")).as_bytes())?;
    }
    Ok(child)
}
