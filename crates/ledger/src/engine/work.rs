//! How much work a statement makes for SQLite. On the few rows of a test, a statement that reads whole tables is not slow, and on a
//! ledger of years it is: a build for tests counts its steps, and a test with many rows finds it.

use rusqlite::{Statement, StatementStatus};

/// The most steps of SQLite's machine that one statement may take: it reads a row in about ten of them.
const MOST_STEPS: i32 = 700_000;

/// Panics in a build for tests if a statement took more steps since it was looked at last.
pub fn check(statement: &Statement<'_>, sql: &str) {
    if cfg!(debug_assertions) && !sql.starts_with("PRAGMA") {
        let steps = statement.reset_status(StatementStatus::VmStep);
        assert!(steps <= MOST_STEPS, "a statement takes {steps} steps, so it reads too many rows: {sql}");
    }
}
