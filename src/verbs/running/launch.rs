//! `opsctl launch`: starts the command of a container without the keys in its environment.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;

use chrono::Utc;
use clap::Args;

use crate::machine::environment::Environment;
use crate::sessions::alone::{self, HoldError};
use crate::sessions::launch;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{FAILED, Failure, OK, complain};

/// Start a command as the first process of a container, without the keys in its environment
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl launch --alone entrypoint
  opsctl launch -- sh -c 'opsctl session --tier 1'

ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN and CLAUDEOPS_APPRISE_URLS are removed from the command's environment, which \
other processes of its user could read. `opsctl session`, `notify` and `doctor` get them if the command starts them \
itself. Signals are forwarded to the command; processes without a parent are collected. Exit code: that of the \
command, or 128 plus the number of the signal that ended it.")]
pub struct LaunchArgs {
    /// Hold the state folder, and do not start while another container holds it
    #[arg(long)]
    alone: bool,
    /// The command
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("launch").runs()];

/// Runs the verb.
pub fn run(args: &LaunchArgs) -> Result<u8, Failure> {
    let [program, arguments @ ..] = args.command.as_slice() else { return Ok(OK) };
    let held = args.alone.then(|| alone::hold(&Environment::of_process(), Utc::now()));
    match &held {
        Some(Err(error @ HoldError::Held { .. })) => return Err(Failure::new(error.to_string())),
        Some(Err(error @ HoldError::Unlocked(..))) => complain(error),
        Some(Ok(_)) | None => {}
    }
    let status = launch::run(program, arguments).map_err(|error| Failure::unstartable(program, &error))?;
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED))
}
