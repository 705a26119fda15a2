//! What a statement costs SQLite. On the few rows of a test, a statement that reads whole tables is not slow, and on a ledger of
//! years it is: a build for tests looks at the plan of each statement and counts its steps.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Statement, StatementStatus};

/// The most steps of SQLite's machine that one statement may take: it reads a row in about ten of them.
const MOST_STEPS: i32 = 700_000;

/// Tables that do not grow with the age of a ledger.
pub const SMALL_TABLES: [&str; 7] = [
    "opsctl_migrations",
    "service_health_streak",
    "running_counts",
    "counted_rows",
    "desk_logins",
    "desk_check",
    "leases",
];

/// What SQLite names instead of one of a ledger's tables.
const NO_TABLES: [&str; 2] = ["CONSTANT", "sqlite_master"];

/// Panics in a build for tests if a statement took more steps since it was looked at last, or if its plan reads a table that grows from
/// its beginning to its end.
pub fn check(connection: &Connection, statement: &Statement<'_>, sql: &str) {
    if cfg!(debug_assertions) && !sql.starts_with("PRAGMA") {
        let steps = statement.reset_status(StatementStatus::VmStep);
        assert!(steps <= MOST_STEPS, "a statement takes {steps} steps, so it reads too many rows: {sql}");
        check_plan(connection, sql);
    }
}

/// Panics if the plan of a statement reads a table that grows as a whole. Each statement is looked at once.
fn check_plan(connection: &Connection, sql: &str) {
    static KNOWN: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let is_new = |known: &mut Option<HashSet<String>>| known.get_or_insert_default().insert(sql.to_owned());
    if !is_new(&mut KNOWN.lock().unwrap_or_else(PoisonError::into_inner)) {
        return;
    }
    // A statement that cannot be explained has failed itself.
    let Ok(mut plan) = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")) else { return };
    let steps = plan.query_map([], |row| row.get::<_, String>(3)).and_then(Iterator::collect);
    let steps: Vec<String> = steps.unwrap_or_default();
    // With a limit, a table is read in the order of an index until there are enough rows, and the steps are counted.
    let reads_all = |step: &&String| {
        let table = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
        let is_whole = table.is_some_and(|table| {
            let grows = !SMALL_TABLES.contains(&table) && !NO_TABLES.contains(&table);
            grows && !sql.contains("LIMIT") && !sql.contains(&format!("{table}("))
        });
        is_whole || step.contains("AUTOMATIC")
    };
    let whole = steps.iter().find(reads_all);
    assert!(whole.is_none(), "a statement reads a table that grows as a whole: {whole:?} of {sql}");
}
