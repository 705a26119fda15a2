//! The state folder and the ledger in it.

use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{Access, access};

use super::examined::Examined;
use super::finding::Finding;
use crate::ledger::Ledger;

/// The folder: there, writable, and nobody else's to write.
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
        let remedy = "let it belong to this user, or name another with CLAUDEOPS_STATE_DIR";
        return Finding::failed(CHECK, format!("{name} cannot be written by this user"), remedy);
    }
    if metadata.mode() & 0o002 != 0 {
        let remedy = format!("run `chmod o-w {name}`");
        return Finding::warning(CHECK, format!("{name} can be written by everybody"), remedy);
    }
    Finding::ok(CHECK, name.to_string())
}

/// The ledger: whole, in the journal mode that lets hooks read while others write, and of this release.
pub fn ledger(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "ledger";
    let path = &examined.environment.db_path;
    let health = match Ledger::open_existing(path)
        .and_then(|ledger| ledger.map(|ledger| ledger.health(!examined.quick)).transpose())
    {
        Ok(Some(health)) => health,
        Ok(None) => {
            return Finding::ok(
                CHECK,
                format!("there is none at {} yet; the first action creates it", path.display()),
            );
        }
        Err(error) => {
            return Finding::failed(CHECK, error.to_string(), "the budgets cannot be kept without it");
        }
    };
    let name = path.display();
    if let Some(damage) = health.damage {
        let remedy =
            "stop the agent, keep a copy, and restore it from a backup or with `sqlite3 FILE .recover`";
        return Finding::failed(CHECK, format!("{name} is damaged: {damage}"), remedy);
    }
    if health.version > health.newest {
        let remedy = "install that release again, or a later one";
        return Finding::failed(
            CHECK,
            format!("{name} was written by a later release (version {})", health.version),
            remedy,
        );
    }
    if health.journal != "wal" {
        let what = format!("{name} is in journal mode `{}`: hooks wait for each other", health.journal);
        return Finding::warning(CHECK, what, "run `sqlite3 FILE 'PRAGMA journal_mode=WAL'` on it");
    }
    Finding::ok(CHECK, format!("{name}, version {}", health.version))
}
