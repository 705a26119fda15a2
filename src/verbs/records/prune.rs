//! `opsctl prune`: deletes old rows of the ledger.

use std::time::{Duration, Instant};

use chrono::Utc;
use clap::Args;

use crate::machine::installation;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, complain, environment_in_force, print, screen, time};
use opsctl_ledger::Ledger;
use opsctl_ledger::upkeep::{Tidied, Wanted};
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
pub const FACTS: &[Facts] = &[Facts::operator("prune").on_guards_side().with_ledger().with_state().audited()];

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
    if let Some(loss) = Ledger::loss_at(&environment.ledger, &environment.state_dir)? {
        return Err(Failure::new(format!("{loss}; nothing is deleted")));
    }
    let mut ledger = Ledger::open(&environment.ledger)?;
    let now = ledger.now(Utc::now())?;
    let wanted = Wanted { cutoff: Some(now - keep.delta()), within: Duration::MAX, is_thorough: true };
    let (is_watched, mut shown) = (screen::shows_progress(), Instant::now());
    let done = ledger.tidy(wanted, now, |done| {
        if is_watched && shown.elapsed() > Duration::from_secs(1) {
            shown = Instant::now();
            complain(format_args!(
                "{} rows deleted so far; Ctrl-C stops, and the next prune continues",
                done.deleted
            ));
        }
        true
    })?;
    print(&format!("{}\n", in_words(&done)));
    Ok(OK)
}

/// What was done, and how long a hook may have waited for it.
fn in_words(done: &Tidied) -> String {
    /// Less is not worth a word.
    const MIB: u64 = 1024 * 1024;
    let mut text = format!("{} rows deleted", done.deleted);
    if done.returned >= MIB {
        text += &format!(", {} MiB given back to the disk", done.returned / MIB);
    }
    if done.free >= MIB {
        text += &format!(", {} MiB of the file are free for later rows", done.free / MIB);
    }
    text + &format!("; no step held the ledger for more than {} ms", done.longest.as_millis().max(1))
}
