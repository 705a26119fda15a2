//! Why a notice that was passed on cannot be delivered.

use opsctl_ledger::LedgerError;

/// Why a notice that was passed on cannot be delivered.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The input is not a notice.
    #[error("the input is not a notification ({0})")]
    Input(#[from] serde_json::Error),
    /// It states something that cannot be.
    #[error("{0}")]
    Stated(String),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
