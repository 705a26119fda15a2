//! The gate on a host itself: the forced command of a key. It judges the command of the connection with the policy and the
//! ledger of the host, and runs it.

pub mod environment;
pub mod install;
pub mod policy;
mod reasons;
mod run;
mod sftp;
pub mod signed;

use std::io::Read as _;

use crate::gates::admission::{Admission, Ticket, admit};
use crate::gates::approved::States;
use crate::gates::remote::input::{Known, LONGEST, Takes, depends, in_bash, is_script, known, takes};
use crate::gates::remote::transfers::Stated;
use crate::gates::remote::{Work, fetched, work};
use crate::machine::request::Request;
use opsctl_policy::model::records::event::ToolResult;
use opsctl_policy::model::rights::gate::Gate;
use reasons::in_one_line;
use run::Input;

/// The variable in which sshd passes the command of the client.
pub const COMMAND: &str = "SSH_ORIGINAL_COMMAND";

/// The exit code of a refused command, as shells give it to a command that may not be executed.
pub const REFUSED: u8 = 126;

/// Runs the command of a connection if it is allowed. Returns its exit code, or why it is refused, in one line.
pub fn serve(text: &str, request: &Request) -> Result<u8, String> {
    let (shell, reads) = run::shell()?;
    let text = text.trim_end_matches('\n');
    let as_sent = |stated: String| Known { stated, runs: text.to_owned(), input: None };
    let judged = in_bash(reads, text);
    let work = work(text)?;
    let has_rules = matches!(work, Work::Transfer(Stated { has_rules: true, .. }));
    let known = match work {
        Work::Sftp => return sftp::serve(request),
        Work::Fetch(repository) => as_sent(fetched(&repository)),
        Work::Transfer(Stated { command, runs, .. }) => {
            Known { stated: command, runs: runs.unwrap_or_else(|| text.to_owned()), input: None }
        }
        // The rules deny an engine without a gate before it.
        Work::Command | Work::Push(_) | Work::Engine => {
            let depends = !is_script(text) && depends(None, &judged, request);
            match takes(text, depends)? {
                Takes::Data => as_sent(judged),
                Takes::Script | Takes::Arguments => known((None, reads), text, stdin()?)?,
            }
        }
    };
    match admit(Gate::Host, (&known.stated, States::InPart), request) {
        Admission::Refused(reasons) => Err(in_one_line(&reasons)),
        Admission::Passes(ticket) => run(shell, &known, has_rules, (ticket, request)),
    }
}

/// What is on stdin, to its end; `None` if it is too long.
fn stdin() -> Result<Option<Vec<u8>>, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input cannot be read ({error})"))?;
    Ok(Some(bytes).filter(|bytes| bytes.len() <= LONGEST))
}

/// Runs the command to its end, also if the connection ends before, and records how it ended.
fn run(
    shell: &str,
    known: &Known,
    has_rules: bool,
    (ticket, request): (Ticket, &Request),
) -> Result<u8, String> {
    let input = match &known.input {
        Some(input) => Input::Read(input),
        None if has_rules => Input::Rules,
        None => Input::Passes,
    };
    let ended = run::command(shell, &known.runs, input);
    let result = match &ended {
        Ok(0) => ToolResult::Succeeded,
        Ok(code) => ToolResult::Failed(format!("exit code {code}")),
        Err(error) => ToolResult::Failed(error.clone()),
    };
    ticket.settle(&result, &request.at(chrono::Utc::now()));
    ended
}
