//! Tests of the query plans of the hot paths, on opsctl's own database and on one of the session manager.

use crate::engine::dialect::postgresql;
use crate::engine::{Connection, Engine, Place, ToSql};

use super::{actions, events, notices, spend, unreported};
use crate::cooldown::usage;
use crate::file::migrate;
use crate::fixture;

const FOUND: &str = include_str!("../../../../tests/fixtures/session-manager.sql");

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
    let engine = Engine::File(rusqlite::Connection::open_in_memory().unwrap());
    let connection = Connection::new(Place::File("test.db".into()), engine).unwrap();
    connection.execute_batch(schema).unwrap();
    migrate::to_latest(&connection).unwrap();
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
        for (sql, _) in HOT {
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

/// A year of a big fleet: 10^5 rows in each table that grows.
const A_BIG_FLEET: &str = include_str!("../../../../tests/fixtures/big-fleet.sql");

/// The queries of `PreToolUse`, `PostToolUse`, `PostToolBatch`, `SessionStart`, `Stop` and `SessionEnd`, and of forwarded requests, with values as hooks have
/// them. `now` and `since` stand for these times.
const HOT: [(&str, &[&str]); 21] = [
    (usage::ACTIONS, &["service7", "restart", "since", "nas", "100"]),
    (usage::UNCOUNTED, &["service7", "restart", "nas"]),
    (usage::OPEN_RESERVATIONS, &["service7", "restart", "since", "nas"]),
    (usage::LAST_VERB, &["service7", "restart", "since"]),
    (usage::LAST_RESET, &["service7"]),
    (usage::KEYS_BY_SKIPPING, &["since"]),
    (usage::KEYS_WITH_RESERVATIONS, &["since"]),
    (actions::RESERVED_FOR_CALL, &["s7", "t7"]),
    (actions::RESERVED_FOR_ACTION, &["s7", "service7", "restart", "restart", "host"]),
    (actions::ALREADY_SETTLED, &["s7", "t7", "restart"]),
    (actions::OF_CALL, &["s7", "t7"]),
    (unreported::OPEN_OF_CALL, &["s7", "t7"]),
    (unreported::OPEN_OF_SESSION, &["s7"]),
    (unreported::OVERDUE, &["since"]),
    (unreported::UNCHECKED, &["since", "nas"]),
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
    let Engine::Server(server) = &ledger.connection.engine else { panic!("a server has no file") };
    server.batch_with_locks(A_BIG_FLEET, std::time::Duration::from_mins(2)).unwrap();
    let now = chrono::Utc::now();
    let time = |value: &str| match value {
        "now" => crate::time::write(now),
        "since" => crate::time::write(now - chrono::TimeDelta::hours(26)),
        other => other.to_owned(),
    };
    for (sql, values) in HOT {
        let values: Vec<String> = values.iter().map(|value| time(value)).collect();
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        let explain = format!("EXPLAIN {sql}");
        let steps: Vec<String> = ledger.query(&explain, &values[..], |row| row.get(0)).unwrap();
        assert!(!steps.iter().any(|step| step.contains("Seq Scan on")), "{sql}: {steps:#?}");
    }
}

/// The statements in the sources of the ledger that are written as a whole.
fn statements() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let files = ["", "cooldown", "file", "records", "sessions"]
        .map(|part| std::fs::read_dir(format!("{folder}/{part}")).unwrap());
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
    let Engine::Server(server) = &ledger.connection.engine else { panic!("a server has no file") };
    let of_a_file = |sql: &String| {
        ["sqlite_master", "pragma_", "strftime", " sessions"].iter().any(|word| sql.contains(word))
    };
    let statements: Vec<String> = statements().into_iter().filter(|sql| !of_a_file(sql)).collect();
    assert!(statements.len() > 100, "{} statements were found", statements.len());
    for sql in statements {
        let prepared = server.batch(&format!("PREPARE it AS {}; DEALLOCATE it", postgresql(&sql)));
        assert!(prepared.is_ok(), "{sql}: {prepared:?}");
    }
}
