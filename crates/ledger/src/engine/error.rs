//! Errors of both engines.

use std::time::Duration;

use rusqlite::ErrorCode;
use rusqlite::types::{FromSqlError, Type};

/// The result of a statement.
pub type Result<T> = std::result::Result<T, Error>;

/// What an engine reports.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite.
    #[error(transparent)]
    File(#[from] rusqlite::Error),
    /// A server, or the connection to it. The text has no secrets.
    #[error("{0}")]
    Server(String),
    /// A server refuses an operation for lack of rights, or because its tables are not those of this release.
    #[error("{0}")]
    Refused(String),
    /// Other agents hold the locks of an operation.
    #[error("other agents hold its locks")]
    Locked,
}

impl Error {
    /// A query has no row.
    pub const NO_ROW: Self = Self::File(rusqlite::Error::QueryReturnedNoRows);

    /// A value of a column that is not of the expected type.
    pub fn of_column(column: usize, cause: &FromSqlError) -> Self {
        let cause = Box::from(cause.to_string());
        Self::File(rusqlite::Error::FromSqlConversionFailure(column, Type::Null, cause))
    }

    /// SQLite's code.
    pub fn file_code(&self) -> Option<ErrorCode> {
        match self {
            Self::File(error) => error.sqlite_error_code(),
            Self::Server(_) | Self::Refused(_) | Self::Locked => None,
        }
    }

    /// A server that has not answered within this time.
    pub fn late(limit: Duration) -> Self {
        Self::Server(format!("it did not answer within {:.1} s", limit.as_secs_f32()))
    }

    /// This error of a server once more.
    pub fn again(&self) -> Option<Self> {
        match self {
            Self::File(_) => None,
            Self::Server(why) => Some(Self::Server(why.clone())),
            Self::Refused(why) => Some(Self::Refused(why.clone())),
            Self::Locked => Some(Self::Locked),
        }
    }
}

/// A row that may be missing.
pub trait OptionalExtension<T> {
    /// `None` if there is no row.
    fn optional(self) -> Result<Option<T>>;
}

impl<T> OptionalExtension<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(Error::File(rusqlite::Error::QueryReturnedNoRows)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
