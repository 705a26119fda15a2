//! `opsctl prune`: old rows go.

use chrono::Utc;
use clap::Args;

use super::place::environment_in_force;
use super::{Failure, OK, print};
use crate::ledger::Ledger;
use crate::model::policy::Window;
use crate::runtime::installation;

/// Delete events and settled actions that are older than what is kept
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl prune --keep 90d")]
pub struct PruneArgs {
    /// How much is kept: 90d, 48h; never less than the longest budget window
    #[arg(long, value_name = "DURATION", value_parser = window)]
    keep: Window,
}

/// A duration on the command line.
pub fn window(text: &str) -> Result<Window, String> {
    Window::parse(text).ok_or_else(|| "write a duration such as `2s`, `48h` or `90d`".to_owned())
}

/// Runs with parsed arguments.
pub fn run(args: &PruneArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let policy = installation::in_force(&environment, &mut Vec::new()).installation.policy;
    for budget in [policy.restart, policy.redeployment] {
        if args.keep.delta() < budget.window.delta() {
            return Err(
                format!("--keep {} is shorter than a budget window of {}", args.keep, budget.window).into()
            );
        }
    }
    if !environment.db_path.exists() {
        return Err(format!(
            "no ledger at {}; name it with CLAUDEOPS_DB_PATH",
            environment.db_path.display()
        )
        .into());
    }
    let mut ledger = Ledger::open(&environment.db_path)?;
    let change = ledger.change()?;
    let deleted = change.prune(Utc::now() - args.keep.delta())?;
    change.commit()?;
    print(&format!("{deleted} rows deleted\n"));
    Ok(OK)
}
