//! Tests of the query plans of the hot paths, on opsctl's own database and on one of the session manager.

use super::engine::Connection;

use super::{actions, events, migrate, notices, spend, usage};

const FOUND: &str = include_str!("../../tests/fixtures/session-manager.sql");

/// The queries of PreToolUse, PostToolUse, SessionStart and SessionEnd, and of forwarded requests.
const HOT: [&str; 18] = [
    usage::ACTIONS,
    usage::ACTIONS_BY_WRITER,
    usage::UNCOUNTED,
    usage::OPEN_RESERVATIONS,
    usage::LAST_VERB,
    usage::LAST_RESET,
    usage::KEYS_BY_SKIPPING,
    usage::KEYS_WITH_RESERVATIONS,
    actions::RESERVED_FOR_CALL,
    actions::RESERVED_FOR_ACTION,
    actions::ALREADY_SETTLED,
    actions::RELEASE,
    events::LATEST,
    notices::SUPPRESSED,
    notices::UNDELIVERED,
    notices::PROBLEMS,
    spend::OF_DAY,
    spend::OF_SESSION,
];

/// The queries that may sort, because they sort few rows.
const SORTED: [&str; 3] = [actions::RESERVED_FOR_ACTION, events::LATEST, notices::PROBLEMS];

/// The tables that grow without bound.
const BIG: [&str; 7] = [
    "api_requests",
    "events",
    "cooldown_actions",
    "hook_actions",
    "hook_settled",
    "budget_resets",
    "notices",
];

fn migrated(schema: &str) -> Connection {
    let mut connection = Connection::File(rusqlite::Connection::open_in_memory().unwrap());
    connection.execute_batch(schema).unwrap();
    migrate::to_latest(&mut connection).unwrap();
    connection
}

fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.file().unwrap().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nulls = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(nulls), |row| row.get(3)).unwrap();
    steps.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn no_hot_query_scans_a_growing_table() {
    for schema in ["", FOUND] {
        let connection = migrated(schema);
        for sql in HOT {
            let steps = plan(&connection, sql);
            let reads = |step: &&String| BIG.iter().any(|table| step.contains(table));
            assert!(steps.iter().any(|step| reads(&step)), "{steps:?}");
            for step in &steps {
                // These steps read in index order and stop at a LIMIT.
                let walks =
                    ["idx_events_created", "idx_cooldown_actions_service", "SCAN events", "SCAN notices"];
                let ends_early = sql.contains("LIMIT") && walks.iter().any(|walk| step.contains(walk));
                let whole = step.starts_with("SCAN") && reads(&step);
                // The partial index contains only open reservations.
                assert!(!whole || ends_early || step.contains("hook_actions_open"), "{sql}: {steps:#?}");
                let sorts = step.contains("TEMP B-TREE FOR ORDER");
                assert!(!sorts || SORTED.contains(&sql), "{sql}: {steps:#?}");
            }
        }
    }
}

#[test]
fn migrations_add_no_index_to_tables_of_another_program() {
    let connection = migrated(&FOUND.replace("CREATE INDEX", "-- CREATE INDEX"));
    for (table, column) in [("events", "created_at"), ("cooldown_actions", "service")] {
        assert!(!migrate::has_index_on(&connection, table, column).unwrap(), "{table}");
    }
    assert!(migrate::has_index_on(&connection, "hook_actions", "service").unwrap());
}
