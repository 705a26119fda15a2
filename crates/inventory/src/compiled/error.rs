//! Why a compiled policy cannot be used.

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
}
