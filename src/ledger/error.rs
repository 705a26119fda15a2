//! Why the ledger cannot be used.

use std::path::Path;

use rusqlite::ErrorCode;

/// A failure of the ledger. The text names the file, the cause and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("the ledger {path} cannot be used: {} ({})", self.reason(), self.remedy())]
pub struct LedgerError {
    path: String,
    cause: rusqlite::Error,
}

impl LedgerError {
    pub(super) fn new(path: &Path, cause: rusqlite::Error) -> Self {
        Self { path: path.display().to_string(), cause }
    }

    /// SQLite's message, without the path that some of its messages repeat.
    fn reason(&self) -> String {
        self.cause.to_string().replace(&format!(": {}", self.path), "")
    }

    fn remedy(&self) -> &'static str {
        match self.cause.sqlite_error_code() {
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
}
