//! Why the ledger cannot be used.

use std::fmt;
use std::path::Path;

use rusqlite::ErrorCode;

/// A failure of the ledger. The text names the file or the guard, the cause and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LedgerError(Cause);

#[derive(Debug)]
enum Cause {
    File { path: String, error: rusqlite::Error },
    Guard(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, error } => {
                // Some messages of SQLite repeat the path.
                let reason = error.to_string().replace(&format!(": {path}"), "");
                write!(f, "the ledger {path} cannot be used: {reason} ({})", remedy(error))
            }
            Self::Guard(why) => f.write_str(why),
        }
    }
}

impl LedgerError {
    pub(super) fn new(path: &Path, error: rusqlite::Error) -> Self {
        Self(Cause::File { path: path.display().to_string(), error })
    }

    /// The guard, which has the ledger, does not answer, for this reason.
    pub fn of_guard(why: impl fmt::Display) -> Self {
        Self(Cause::Guard(why.to_string()))
    }
}

fn remedy(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            "create its folder and let this user write there, or name another with CLAUDEOPS_STATE_DIR"
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            "move the file away, or name another with CLAUDEOPS_DB_PATH"
        }
        Some(ErrorCode::DiskFull) => "free some space on its disk",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program has locked it; wait for it or end it"
        }
        _ => "check the state folder",
    }
}
