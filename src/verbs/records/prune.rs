//! `opsctl prune`: deletes old rows of the ledger.

use chrono::Utc;
use clap::Args;

use crate::machine::installation;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, environment_in_force, print, time};
use opsctl_ledger::Ledger;
use opsctl_policy::model::rights::policy::Window;

/// Delete old events, settled actions and other rows of the ledger
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl prune --keep 90d")]
pub struct PruneArgs {
    /// Age of rows to keep: 90d, 48h; at least the longest budget window
    #[arg(long, value_name = "DURATION", value_parser = time::duration)]
    keep: Window,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("prune").on_guards_side().with_ledger().with_state()];

/// Runs the verb.
pub fn run(args: &PruneArgs) -> Result<u8, Failure> {
    let environment = environment_in_force();
    let policy = installation::in_force(&environment, &mut Vec::new()).installation.policy;
    let (keep, window) = (args.keep, policy.longest_window());
    if keep.delta() < window.delta() {
        return Err(Failure::new(format!("--keep {keep} is shorter than a budget window of {window}")));
    }
    if !Ledger::exists(&environment.ledger)? {
        return Err(Failure::new(format!(
            "no ledger at {}; name it with CLAUDEOPS_DB_PATH or CLAUDEOPS_DB_URL",
            environment.ledger
        )));
    }
    let mut ledger = Ledger::open(&environment.ledger)?;
    let change = ledger.change()?;
    if let Some(loss) = change.loss(&environment.state_dir)? {
        return Err(Failure::new(format!("{loss}; nothing is deleted")));
    }
    let deleted = change.prune(change.now(Utc::now()) - args.keep.delta())?;
    change.commit_and_mark(&environment.state_dir, None)?;
    print(&format!("{deleted} rows deleted\n"));
    Ok(OK)
}
