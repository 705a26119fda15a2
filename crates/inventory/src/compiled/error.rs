//! Why a compiled policy cannot be used.

use crate::model::policy::{Tier, Window};

/// Why a compiled policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CompiledError {
    /// It is not JSON of the right shape.
    #[error("not a compiled policy: {0}")]
    Shape(#[from] serde_json::Error),
    /// It was written by another release.
    #[error("compiled policy of format {found}, but this opsctl reads format {expected}")]
    Format {
        /// The format of the compiled policy.
        found: u32,
        /// The only format that this release reads.
        expected: u32,
    },
    /// A workload or guest has another form.
    #[error("compiled policy with `{0}`, which is not the name of a workload or guest")]
    Name(String),
    /// A duration or a tier is out of range.
    #[error("compiled policy with `{0}` out of range")]
    Range(&'static str),
}

/// The duration under `key`, in seconds.
pub fn window(seconds: i64, key: &'static str) -> Result<Window, CompiledError> {
    Window::seconds(seconds).ok_or(CompiledError::Range(key))
}

/// The tier under `key`, 1 to 3.
pub fn tier(number: u8, key: &'static str) -> Result<Tier, CompiledError> {
    Tier::from_number(number).ok_or(CompiledError::Range(key))
}
