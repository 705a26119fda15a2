//! `opsctl status`: shows the current state.

mod display;
mod overview;

use chrono::Utc;
use clap::Args;

use crate::verbs::facts::Facts;
use crate::verbs::terminal::{FAILED, Failure, OK, print, print_json, screen, watch::watch};
use overview::Status;

/// Show what needs attention, the tier, budgets, hosts, and the latest sessions and events
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl status
  opsctl status --watch          # refresh every two seconds; `q` ends it
  opsctl status --agent nas      # what one of several agents did
  opsctl status --no-hosts       # without pinging hosts
  opsctl status --json

Exit code 1 if the ledger cannot be used; the status is then what is known without it. Pings hosts for at most one second. On a terminal, lines fit its width and are coloured; NO_COLOR disables colours.")]
pub struct StatusArgs {
    /// Refresh every two seconds
    #[arg(long)]
    watch: bool,
    /// Only what this agent did, and its budgets
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Do not ping hosts
    #[arg(long)]
    no_hosts: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("status").in_guard(&["--watch"]).with_ledger()];

/// Runs the verb.
pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    let status = || Status::at(Utc::now(), args.no_hosts, args.agent.as_deref());
    if args.watch {
        watch("opsctl status", |width| display::render(&status(), width))?;
        return Ok(OK);
    }
    let status = status();
    if args.json {
        print_json(&status)?;
    } else {
        print(display::render(&status, screen::width())?);
    }
    Ok(if status.ledger_error.is_some() { FAILED } else { OK })
}
