//! Tests of the query plans of the hot paths, on opsctl's own database and on one of the session manager.

use super::engine::dialect::postgresql;
use super::engine::{Connection, ToSql};

use super::{actions, events, fixture, migrate, notices, spend, usage};

const FOUND: &str = include_str!("../../../tests/fixtures/session-manager.sql");

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
const BIG: [&str; 9] = [
    "api_requests",
    "events",
    "cooldown_actions",
    "hook_actions",
    "hook_settled",
    "budget_resets",
    "notices",
    "notice_attempts",
    "notice_deliveries",
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

/// A year of a big fleet: 10^5 rows in each table that grows, of 2,000 services and 5,000 sessions.
const A_BIG_FLEET: &str = "
    INSERT INTO events (session_id, level, service, message, created_at, source)
        SELECT 's' || n % 5000, CASE n % 50 WHEN 0 THEN 'critical' ELSE 'info' END, 'service' || n % 2000, 'm' || n,
            now() - n * INTERVAL '5 minutes', 'hook' FROM generate_series(1, 100000) AS n;
    INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier)
        SELECT 'service' || n % 2000, 'restart', now() - n * INTERVAL '5 minutes', TRUE, 2
        FROM generate_series(100000, 1, -1) AS n;
    INSERT INTO recorded_actions (action_id, session_id, by_hand)
        SELECT id, 's' || id % 5000, FALSE FROM cooldown_actions;
    INSERT INTO hook_actions (session_id, tool_use_id, service, kind, verb, counts, state, reserved_at, expires_at, settled_at)
        SELECT 's' || n % 5000, 't' || n, 'service' || n % 2000, 'restart', 'restart', TRUE,
            CASE WHEN n < 5 THEN 'reserved' ELSE 'done' END, at, at + INTERVAL '10 minutes', at
        FROM (SELECT n, now() - n * INTERVAL '5 minutes' AS at FROM generate_series(100000, 1, -1) AS n) AS year;
    INSERT INTO hook_settled (session_id, tool_use_id, actions, settled_at)
        SELECT session_id, tool_use_id, 'restart', settled_at FROM hook_actions;
    INSERT INTO budget_resets (service, at, why)
        SELECT 'service' || n % 2000, now() - n * INTERVAL '5 minutes', 'healthy' FROM generate_series(1, 100000) AS n;
    INSERT INTO notices (key, quiet_until, created_at, level, title, body, format, tags, state)
        SELECT 'key' || n % 5000, now() - n * INTERVAL '4 minutes', now() - n * INTERVAL '5 minutes', 'warning', 't', 'b',
            'text', '', 'pending' FROM generate_series(1, 100000) AS n;
    INSERT INTO notice_attempts (notice_id, at, state) SELECT id, created_at, 'sending' FROM notices;
    INSERT INTO notice_deliveries (notice_id, at, state) SELECT id, created_at, 'delivered' FROM notices WHERE id > 4;
    INSERT INTO api_requests (at, session_id, model, input_tokens, output_tokens, cache_write_tokens, cache_write_1h_tokens,
            cache_read_tokens, web_searches, cost_micros, estimated)
        SELECT now() - n * INTERVAL '5 minutes', 's' || n % 5000, 'm', 1, 1, 1, 1, 1, 0, 5, FALSE
        FROM generate_series(1, 100000) AS n;
    ANALYZE";

/// The queries with values as hooks have them. `now` and `since` stand for these times.
const HOT_WITH_VALUES: [(&str, &[&str]); 18] = [
    (usage::ACTIONS, &["service7", "restart", "since"]),
    (usage::ACTIONS_BY_WRITER, &["service7", "restart", "since", "nas"]),
    (usage::UNCOUNTED, &["service7", "restart", "nas"]),
    (usage::OPEN_RESERVATIONS, &["service7", "restart", "now", "nas"]),
    (usage::LAST_VERB, &["service7", "restart", "now"]),
    (usage::LAST_RESET, &["service7"]),
    (usage::KEYS_BY_SKIPPING, &["since"]),
    (usage::KEYS_WITH_RESERVATIONS, &["now"]),
    (actions::RESERVED_FOR_CALL, &["s7", "t7"]),
    (actions::RESERVED_FOR_ACTION, &["s7", "service7", "restart", "restart", "host", "now"]),
    (actions::ALREADY_SETTLED, &["s7", "t7", "restart"]),
    (actions::RELEASE, &["s7"]),
    (events::LATEST, &["60"]),
    (notices::SUPPRESSED, &["key7", "now"]),
    (notices::UNDELIVERED, &["since"]),
    (notices::PROBLEMS, &["since"]),
    (spend::OF_DAY, &["since"]),
    (spend::OF_SESSION, &["s7"]),
];

#[test]
fn a_server_with_big_tables_reads_none_of_them_whole() {
    let Some(ledger) = fixture::on_server() else { return };
    let Connection::Server(server) = &*ledger.connection else { panic!("a server has no file") };
    server.batch_with_locks(A_BIG_FLEET, std::time::Duration::from_mins(2)).unwrap();
    let now = chrono::Utc::now();
    let time = |value: &str| match value {
        "now" => super::time::write(now),
        "since" => super::time::write(now - chrono::TimeDelta::hours(26)),
        other => other.to_owned(),
    };
    for (sql, values) in HOT_WITH_VALUES {
        let values: Vec<String> = values.iter().map(|value| time(value)).collect();
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        let mut explain = ledger.connection.prepare(&format!("EXPLAIN {sql}")).unwrap();
        let steps = explain.query_map(&values[..], |row| row.get::<String>(0)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        assert!(!steps.iter().any(|step| step.contains("Seq Scan on")), "{sql}: {steps:#?}");
    }
}

/// The statements in the sources of the ledger that are written as a whole.
fn statements() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let files = ["", "sessions"].map(|part| std::fs::read_dir(format!("{folder}/{part}")).unwrap());
    let files = files.into_iter().flatten().map(|file| file.unwrap().path());
    let mut found = Vec::new();
    for file in files.filter(|file| file.extension().is_some_and(|name| name == "rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap().replace("\\\n", "");
        // Every other part between quotes is a text.
        let texts = code.split('"').skip(1).step_by(2);
        let begins = |text: &&str| {
            ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "].iter().any(|word| text.starts_with(word))
        };
        found.extend(texts.filter(begins).filter(|text| !text.contains(['{', '\\'])).map(str::to_owned));
    }
    found
}

/// A server determines the types of parameters from the whole statement, which may leave them open.
#[test]
fn a_server_understands_every_statement() {
    let Some(ledger) = fixture::on_server() else { return };
    let Connection::Server(server) = &*ledger.connection else { panic!("a server has no file") };
    let of_a_file = |sql: &String| {
        ["sqlite_master", "pragma_", "strftime", " sessions"].iter().any(|word| sql.contains(word))
    };
    let statements: Vec<String> = statements().into_iter().filter(|sql| !of_a_file(sql)).collect();
    assert!(statements.len() > 140, "{} statements were found", statements.len());
    for sql in statements {
        let prepared = server.batch(&format!("PREPARE it AS {}; DEALLOCATE it", postgresql(&sql)));
        assert!(prepared.is_ok(), "{sql}: {prepared:?}");
    }
}
