//! Checks of the state folder and the ledger.

use std::os::unix::fs::MetadataExt as _;

use chrono::{SecondsFormat, Utc};
use rustix::fs::{Access, access};

use super::examined::Examined;
use super::finding::{Condition, Finding};
use crate::ledger::Ledger;

/// Checks that the state folder exists, is writable, and is not world-writable.
pub fn folder(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "state folder";
    let folder = &examined.environment.state_dir;
    let name = folder.display();
    let metadata = match folder.metadata() {
        Ok(metadata) if metadata.is_dir() => metadata,
        Ok(_) => {
            return Finding::failed(
                CHECK,
                format!("{name} is not a folder"),
                "name another with CLAUDEOPS_STATE_DIR",
            );
        }
        Err(error) => {
            let remedy = "create it, or name another with CLAUDEOPS_STATE_DIR";
            return Finding::failed(CHECK, format!("{name}: {error}"), remedy);
        }
    };
    if access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let remedy = "make this user its owner, or name another with CLAUDEOPS_STATE_DIR";
        return Finding::failed(CHECK, format!("{name} is not writable by this user"), remedy);
    }
    if metadata.mode() & 0o002 != 0 {
        let remedy = format!("run `chmod o-w {name}`");
        return Finding::warning(CHECK, format!("{name} is world-writable"), remedy);
    }
    Finding::ok(CHECK, name.to_string())
}

const LEDGER: &str = "ledger";

/// Checks that the ledger is intact, complete, in WAL mode, and not of a later release.
pub fn ledger(examined: &Examined<'_>) -> Finding {
    if examined.environment.guard.is_some() {
        return Finding::ok(LEDGER, "the guard has it; run `opsctl doctor` on its side");
    }
    let finding = ledger_file(examined);
    if finding.condition == Condition::Failed { finding } else { lost_rows(examined).unwrap_or(finding) }
}

/// The finding if the ledger has lost rows, and while budgets may miss rows that were lost.
fn lost_rows(examined: &Examined<'_>) -> Option<Finding> {
    let (path, state_dir) = (&examined.environment.ledger, &examined.environment.state_dir);
    // An error is reported by the check of the file.
    if let Some(loss) = Ledger::loss_at(path, state_dir).ok().flatten() {
        let remedy =
            "budgets count lost actions only if cooldown.json holds them; find out what changed the ledger";
        return Some(Finding::failed(LEDGER, loss.to_string(), remedy));
    }
    let policy = &examined.policy.installation.policy;
    let lost_at = Ledger::lost_at(path, state_dir)?;
    let until = lost_at + policy.restart.window.delta().max(policy.redeployment.window.delta());
    let [lost_at, complete] = [lost_at, until].map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true));
    (Utc::now() < until).then(|| {
        let what = format!("{path} had lost rows at {lost_at}; budgets may miss actions until {complete}");
        Finding::warning(
            LEDGER,
            what,
            "find out what changed the ledger; `opsctl events` shows what was missing",
        )
    })
}

fn ledger_file(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = LEDGER;
    let path = &examined.environment.ledger;
    let health = match Ledger::open_existing(path)
        .and_then(|ledger| ledger.map(|ledger| ledger.health(!examined.quick)).transpose())
    {
        Ok(Some(health)) => health,
        Ok(None) => {
            return Finding::ok(CHECK, format!("no ledger at {path} yet; the first action creates it"));
        }
        Err(error) => {
            return Finding::failed(CHECK, error.to_string(), "budgets cannot be enforced without it");
        }
    };
    let name = path;
    if let Some(damage) = health.damage {
        let remedy =
            "stop the agent, keep a copy, and restore it from a backup or with `sqlite3 FILE .recover`";
        return Finding::failed(CHECK, format!("{name} is damaged: {damage}"), remedy);
    }
    if health.version > health.newest {
        let remedy = "install that release or a later one";
        return Finding::failed(
            CHECK,
            format!("{name} was written by a later release (version {})", health.version),
            remedy,
        );
    }
    if health.blocks_manager {
        return Finding::failed(
            CHECK,
            format!(
                "{name} was created by an earlier release: the session manager cannot create its tables there"
            ),
            "run `opsctl prune --keep 90d`, which adds them, and start the session manager again",
        );
    }
    if health.journal != "wal" {
        let what = format!("{name} is in journal mode `{}`: hooks block each other", health.journal);
        return Finding::warning(CHECK, what, "run `sqlite3 FILE 'PRAGMA journal_mode=WAL'` on it");
    }
    Finding::ok(CHECK, format!("{name}, version {}", health.version))
}
