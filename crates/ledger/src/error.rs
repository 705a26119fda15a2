//! Why the ledger cannot be used.

use std::fmt;

use rusqlite::ErrorCode;

use super::engine::Error;
use super::engine::address::{Location, Place};

/// A failure of the ledger. The text names the file, the server or the guard, the cause and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LedgerError(Cause);

#[derive(Debug)]
enum Cause {
    Engine(Box<(Location, Error)>),
    Guard(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(failure) => {
                let (location, error) = &**failure;
                // Some messages of SQLite repeat the path.
                let reason = error.to_string().replace(&format!(": {location}"), "");
                write!(f, "the ledger {location} cannot be used: {reason} ({})", remedy(location, error))
            }
            Self::Guard(why) => f.write_str(why),
        }
    }
}

impl LedgerError {
    pub(super) fn new(location: &Location, error: Error) -> Self {
        Self(Cause::Engine(Box::new((location.clone(), error))))
    }

    /// Whether other agents hold the locks that are needed.
    pub fn is_locked(&self) -> bool {
        matches!(&self.0, Cause::Engine(cause) if matches!(cause.1, Error::Locked))
    }

    /// The guard, which has the ledger, does not answer, for this reason.
    pub fn of_guard(why: impl fmt::Display) -> Self {
        Self(Cause::Guard(why.to_string()))
    }
}

fn remedy(location: &Location, error: &Error) -> &'static str {
    if let Place::Server(_) = location.place {
        return match error {
            Error::Refused(_) => "`opsctl db grant` prints the rights that each role needs",
            Error::Locked => "wait for them; if one has stopped, the server ends its transaction",
            Error::File(_) | Error::Server(_) => {
                "check CLAUDEOPS_DB_URL and the server; `opsctl doctor` measures both"
            }
        };
    }
    match error.file_code() {
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
