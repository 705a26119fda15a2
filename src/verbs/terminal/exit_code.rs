//! The exit codes of the program.

/// Success; for a hook: allowed.
pub const OK: u8 = 0;
/// A usage error, bad input, or a difference found by `--check`.
pub const FAILED: u8 = 1;
/// A hook denies, or `explain --exit-code` would. No other verb uses it: the client takes it for a denial.
pub const DENIED: u8 = 2;
