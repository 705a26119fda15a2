//! The gate on a host itself: the forced command of a key. It judges the command of the connection with the policy and the
//! ledger of the host, and runs it.

pub mod environment;
mod forms;
pub mod install;
mod reasons;
mod run;
mod script;
mod sftp;
pub mod signed;

use std::fs::File;

use crate::gates::admission::{Admission, Ticket, admit};
use crate::machine::request::Request;
use forms::Form;
use opsctl_policy::model::records::event::ToolResult;
use opsctl_policy::model::rights::gate::Gate;
use reasons::in_one_line;
use script::Known;

/// The variable in which sshd passes the command of the client.
pub const COMMAND: &str = "SSH_ORIGINAL_COMMAND";

/// The exit code of a refused command, as shells give it to a command that may not be executed.
pub const REFUSED: u8 = 126;

/// Runs the command of a connection if it is allowed. Returns its exit code, or why it is refused, in one line.
pub fn serve(text: &str, request: &Request) -> Result<u8, String> {
    let stated = match forms::read(text) {
        Form::Sftp => return sftp::serve(request),
        Form::Refused(why) => return Err(why.to_owned()),
        Form::Stated(stated) => stated,
        Form::Plain => text.to_owned(),
    };
    let Known { stated, runs, stdin } = script::with_stdin(text, stated, request)?;
    match admit(Gate::Host, &stated, request) {
        Admission::Refused(reasons) => Err(in_one_line(&reasons)),
        Admission::Passes(ticket) => run(runs.as_deref().unwrap_or(text), stdin, ticket, request),
    }
}

/// Runs the command to its end, also if the connection ends before, and records how it ended.
fn run(text: &str, stdin: Option<File>, ticket: Ticket, request: &Request) -> Result<u8, String> {
    let ended = run::command(text, stdin);
    let result = match &ended {
        Ok(0) => ToolResult::Succeeded,
        Ok(code) => ToolResult::Failed(format!("exit code {code}")),
        Err(error) => ToolResult::Failed(error.clone()),
    };
    ticket.settle(&result, &request.at(chrono::Utc::now()));
    ended
}
