//! Reports of finished calls that did not reach the guard. They are kept in a file of the state folder and sent by the next
//! hook or verb that reaches it; the guard counts a call once.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::forward::{self, Input};
use crate::guard::failures;
use crate::link::address::Address;
use crate::link::caller::LinkError;
use crate::link::message::{Call, Reply};
use crate::plain_file::{self, Content};
use crate::runtime::environment::Environment;
use crate::runtime::guard_link::{self, QUICK};
use crate::write_limit;

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct ReportWire {
    event: Option<String>,
    stdin: String,
}

fn waiting_file(state_dir: &Path) -> PathBuf {
    state_dir.join("guard-undelivered.jsonl")
}

fn claimed_file(state_dir: &Path) -> PathBuf {
    state_dir.join("guard-undelivered.claimed.jsonl")
}

/// Keeps a report.
pub fn keep(input: Input<'_>, environment: &Environment) -> io::Result<()> {
    let line = ReportWire {
        event: input.event.map(str::to_owned),
        stdin: String::from_utf8_lossy(input.stdin).into_owned(),
    };
    let mut line = serde_json::to_string(&line)?;
    line.push('\n');
    write_limit::fail_beyond();
    // Commands may contain secrets. One write, so that lines of two processes do not mix.
    let path = waiting_file(&environment.state_dir);
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    file.write_all(line.as_bytes())
}

/// Sends what is kept, failures included. An error means that the guard cannot be reached; everything stays kept.
pub fn deliver(guard: &Address, environment: &Environment) -> Result<(), LinkError> {
    // First what an interrupted process has left, then what has come since.
    for _ in 0..2 {
        failures(guard, environment)?;
        reports(guard, environment)?;
    }
    Ok(())
}

fn reports(guard: &Address, environment: &Environment) -> Result<(), LinkError> {
    let (waiting, claimed) = (waiting_file(&environment.state_dir), claimed_file(&environment.state_dir));
    if !claimed.exists() && (!waiting.exists() || std::fs::rename(&waiting, &claimed).is_err()) {
        return Ok(());
    }
    // Another process may be sending it. If that one was killed, its lock is gone.
    let Ok(file) = File::open(&claimed) else { return Ok(()) };
    if file.try_lock().is_err() {
        return Ok(());
    }
    let Ok(Content::Bytes(text)) = plain_file::read(&claimed, u64::MAX) else { return Ok(()) };
    for line in text.split(|byte| *byte == b'\n') {
        // A line that was cut off by a full disk states no call.
        let Ok(ReportWire { event, stdin }) = serde_json::from_slice(line) else { continue };
        let input = Input { stdin: stdin.as_bytes(), event: event.as_deref() };
        // The session was that of another hook.
        forward::serve(guard, input, &of_any_session(environment), QUICK)?;
    }
    let _ = std::fs::remove_file(claimed);
    Ok(())
}

/// The session of a kept report is that of its input.
fn of_any_session(environment: &Environment) -> Environment {
    Environment { client_session: None, ..environment.clone() }
}

fn failures(guard: &Address, environment: &Environment) -> Result<(), LinkError> {
    let Some((file, text)) = failures::take_kept(environment) else { return Ok(()) };
    match guard_link::call(guard, Call::Kept, text.as_bytes(), environment, QUICK, &mut |_| Value::Null)? {
        Reply::Value(_) => {
            failures::remove_kept(Some(file));
            Ok(())
        }
        _ => Err(guard_link::unexpected()),
    }
}
