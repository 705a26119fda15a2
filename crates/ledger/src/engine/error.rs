//! Why the ledger cannot be used.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::ErrorCode;
use rusqlite::types::{FromSqlError, Type};

use super::address::Place;

/// A failure of the ledger. The text names the file, the server or the guard, the cause and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LedgerError(Cause);

#[derive(Debug)]
enum Cause {
    Engine(Box<(Place, Error)>),
    Guard(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(failure) => {
                let (place, error) = &**failure;
                // Some messages of SQLite repeat the path.
                let reason = error.to_string().replace(&format!(": {place}"), "");
                write!(f, "the ledger {place} cannot be used: {reason} ({})", remedy(place, error))
            }
            Self::Guard(why) => f.write_str(why),
        }
    }
}

impl LedgerError {
    /// The failure of the ledger at a place.
    pub(crate) fn new(place: &Place, error: impl Into<Error>) -> Self {
        Self(Cause::Engine(Box::new((place.clone(), error.into()))))
    }

    /// The guard, which has the ledger, does not answer, for this reason.
    pub fn of_guard(why: impl fmt::Display) -> Self {
        Self(Cause::Guard(why.to_string()))
    }

    /// This failure as one of the ledger at another place.
    pub(crate) fn at(self, place: &Place) -> Self {
        self.engine().map_or_else(|| Self::of_guard(&self), |cause| Self::new(place, cause.clone()))
    }

    /// What the engine reports.
    pub(crate) fn engine(&self) -> Option<&Error> {
        match &self.0 {
            Cause::Engine(failure) => Some(&failure.1),
            Cause::Guard(_) => None,
        }
    }

    /// Whether other agents hold the locks that are needed.
    pub fn is_locked(&self) -> bool {
        matches!(self.engine(), Some(Error::Locked))
    }

    /// Whether others use the ledger, also another program that has locked its file.
    pub fn is_in_use(&self) -> bool {
        self.engine().is_some_and(|error| matches!(error, Error::Locked) || error.is_busy())
    }

    fn is_no_row(&self) -> bool {
        matches!(self.engine(), Some(Error::NoRow))
    }
}

fn remedy(place: &Place, error: &Error) -> &'static str {
    if let Place::Server(_) = place {
        return match error {
            Error::Refused(_) => "`opsctl db grant` prints the rights that each role needs",
            Error::Locked => "wait for them; if one has stopped, the server ends its transaction",
            Error::Unreleased(_) => "name an empty database in CLAUDEOPS_DB_URL",
            Error::Certificate(_, remedy) => remedy,
            Error::File(_) | Error::NoRow | Error::Server(_) => {
                "check CLAUDEOPS_DB_URL and the server; `opsctl doctor` measures both"
            }
        };
    }
    // A development version of the first release has created fewer tables and columns.
    let lacks = ["no such table", "no such column", "has no column named"];
    if matches!(error, Error::Unreleased(_)) || lacks.iter().any(|text| error.to_string().contains(text)) {
        return "move the file away; opsctl creates a new ledger";
    }
    match error.file_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            "create its folder and let this user write there, or name another with CLAUDEOPS_STATE_DIR"
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            "move the file away, or name another with CLAUDEOPS_DB_PATH"
        }
        Some(ErrorCode::DiskFull) => "free some space on its disk",
        _ if error.is_busy() => "another program has locked it; wait for it or end it",
        _ => "check the state folder",
    }
}

/// The result of an operation of an engine.
pub type EngineResult<T> = Result<T, Error>;

/// What an engine reports.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// SQLite.
    #[error(transparent)]
    File(Arc<rusqlite::Error>),
    /// A query has no row.
    #[error("Query returned no rows")]
    NoRow,
    /// A server, or the connection to it. The text has no secrets.
    #[error("{0}")]
    Server(String),
    /// The certificate of a server is not accepted, with the remedy.
    #[error("{0}")]
    Certificate(&'static str, &'static str),
    /// A server refuses an operation for lack of rights, or because its tables are not those of this release.
    #[error("{0}")]
    Refused(String),
    /// Other agents hold the locks of an operation.
    #[error("other agents hold its locks")]
    Locked,
    /// The tables are of a development version, which numbered its migrations otherwise.
    #[error("its tables have version {0}, of a development version of opsctl that no release migrates")]
    Unreleased(u32),
}

impl Error {
    /// A value of a column that is not of the expected type.
    pub fn of_column(column: usize, cause: &FromSqlError) -> Self {
        let cause = Box::from(cause.to_string());
        rusqlite::Error::FromSqlConversionFailure(column, Type::Null, cause).into()
    }

    /// SQLite's code.
    pub fn file_code(&self) -> Option<ErrorCode> {
        if let Self::File(error) = self { error.sqlite_error_code() } else { None }
    }

    /// Whether another program has locked the file.
    pub fn is_busy(&self) -> bool {
        matches!(self.file_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// A server that has not answered within this time.
    pub fn late(limit: Duration) -> Self {
        Self::Server(format!("it did not answer within {:.1} s", limit.as_secs_f32()))
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::File(Arc::new(error))
    }
}

/// A row that may be missing.
pub trait OptionalExtension<T> {
    /// `None` if there is no row.
    fn optional(self) -> Result<Option<T>, LedgerError>;
}

impl<T> OptionalExtension<T> for Result<T, LedgerError> {
    fn optional(self) -> Result<Option<T>, LedgerError> {
        match self {
            Err(error) if error.is_no_row() => Ok(None),
            found => found.map(Some),
        }
    }
}
