//! The plans of the statements that hooks and verbs send to a server: none reads a table that grows from its beginning to its end.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::database_server::DatabaseServer;
use crate::sandbox::{Run, Sandbox as OnServer, on_file::Sandbox, passes};
use crate::shared_server::server;
use opsctl_ledger::SMALL_TABLES;

#[path = "../support/years.rs"]
mod ledger_of_years;

/// Lets a server log the plan of each statement. It reads a whole table only where no index could serve, also if the table has the few
/// rows of a test.
pub const CONFIGURATION: &str = "
session_preload_libraries = 'auto_explain'
auto_explain.log_min_duration = 0
auto_explain.log_format = json
auto_explain.log_analyze = on
auto_explain.log_timing = off
enable_seqscan = off
enable_hashjoin = off
enable_mergejoin = off
jit = off
logging_collector = on
log_destination = jsonlog
log_directory = log
log_filename = plans
log_rotation_age = 0
log_rotation_size = 0
";

/// Indexes of the few rows that are not settled yet.
const OPEN: [&str; 5] = [
    "hook_actions_open",
    "hook_actions_overdue",
    "hook_sessions_open",
    "notices_undelivered",
    "questions_open",
];

/// The plans that a server has logged.
pub struct Plans {
    path: PathBuf,
    read: Mutex<Read>,
}

/// The log, as far as it is read, and the objections that it led to, by database.
#[derive(Default)]
struct Read {
    log: Option<BufReader<File>>,
    found: HashMap<String, Vec<String>>,
}

impl Plans {
    /// Those of a server with [`CONFIGURATION`].
    pub fn of(server: &DatabaseServer) -> Self {
        Self { path: server.data().join("log/plans.json"), read: Mutex::default() }
    }

    /// The objections to the plans of a database so far, of scans that read more than `most` rows.
    pub fn objections(&self, server: &DatabaseServer, database: &str, most: f64) -> Vec<String> {
        // One after the other, so that none reads the end of another one.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let end = format!("no more plans of {database}");
        server.psql("postgres", &format!("DO $$ BEGIN RAISE LOG '{end}'; END $$"));
        let Read { log, found } = &mut *read;
        let log = log.get_or_insert_with(|| BufReader::new(File::open(&self.path).unwrap()));
        let mut line = String::new();
        loop {
            log.read_line(&mut line).unwrap();
            if !line.ends_with('\n') {
                std::thread::sleep(std::time::Duration::from_millis(2));
                continue;
            }
            let entry: Value = serde_json::from_str(&line).unwrap();
            line.clear();
            let message = entry["message"].as_str().unwrap_or_default();
            if message == end {
                return found.remove(database).unwrap_or_default();
            }
            let is_ours = entry["application_name"].as_str().is_some_and(|name| name.starts_with("opsctl"));
            let Some((_, plan)) = message.split_once("plan:\n").filter(|_| is_ours) else { continue };
            let plan: Value = serde_json::from_str(plan).unwrap();
            let mut objections = Vec::new();
            object(&plan["Plan"], false, most, &mut objections);
            let text = plan["Query Text"].as_str().unwrap_or_default();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let of = found.entry(entry["dbname"].as_str().unwrap_or_default().to_owned()).or_default();
            of.extend(objections.into_iter().map(|objection| format!("{objection}: {text}")));
        }
    }
}

/// Adds what is wrong with a plan. `is_limited`: its rows are read until there are enough.
fn object(plan: &Value, is_limited: bool, most: f64, objections: &mut Vec<String>) {
    let text = |name: &str| plan[name].as_str().unwrap_or_default();
    let number = |name: &str| plan[name].as_f64().unwrap_or_default();
    let kind = text("Node Type");
    // One that is run at first has one value, or shows whether there is a row; another one may run to its end.
    let is_limited = match text("Parent Relationship") {
        "InitPlan" => true,
        "SubPlan" => kind == "Limit",
        _ => is_limited || kind == "Limit",
    };
    let table = text("Relation Name");
    let is_scan = (kind.contains("Scan") && !table.is_empty()) || kind == "Bitmap Index Scan";
    if is_scan && !SMALL_TABLES.contains(&table) {
        let has_condition =
            !plan["Index Cond"].is_null() || !plan["TID Cond"].is_null() || kind == "Bitmap Heap Scan";
        let removed = number("Rows Removed by Filter") + number("Rows Removed by Index Recheck");
        let rows = (number("Actual Rows") + removed) * number("Actual Loops");
        // A table of one row has no better plan.
        let is_whole = rows > 1.0 && !has_condition && !is_limited && !OPEN.contains(&text("Index Name"));
        if kind == "Seq Scan" || is_whole || rows > most {
            objections.push(format!("{kind} on {table} {} reads {rows} rows", text("Index Name")));
        }
    }
    let reads_all = ["Sort", "Aggregate", "WindowAgg", "Hash"].contains(&kind);
    for part in plan["Plans"].as_array().into_iter().flatten() {
        object(part, is_limited && !reads_all, most, objections);
    }
}

#[test]
fn no_verb_and_no_hook_reads_a_table_that_grows_as_a_whole() {
    const ROWS: usize = 60_000;
    /// Words have no index: verbs look for them in this number of the latest rows.
    const MOST: f64 = 50_001.0;
    let mut server = DatabaseServer::created();
    server.configure("fsync = off\n");
    server.configure(CONFIGURATION);
    server.start();
    let sandbox = ledger_of_years::years(ROWS);
    let file = sandbox.path("claudeops.db");
    let sandbox = sandbox.with("CLAUDEOPS_DB_URL", &server.database("years"));
    let plans = Plans::of(&server);
    let check = |what: &str, Run { code, stderr, .. }: Run| {
        let objections = plans.objections(&server, "years", MOST);
        assert!(code == Some(0) && objections.is_empty(), "{what}: {code:?} {stderr} {objections:#?}");
    };
    check("db migrate", sandbox.opsctl(&["db", "migrate", "--from", file.to_str().unwrap()], b""));
    server.psql("years", "VACUUM ANALYZE");
    ledger_of_years::use_all(&sandbox, check);
    check("prune", sandbox.opsctl(&["prune", "--keep", "20d"], b""));
}

#[test]
fn a_statement_that_reads_a_whole_table_is_found() {
    let sandbox = OnServer::new();
    for id in ["t1", "t2"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
    }
    assert_eq!(server().objections(sandbox.database()), Vec::<String>::new());
    for (statement, objection) in [
        ("SELECT id FROM events WHERE message = 'x'", "Seq Scan on events  reads 0 rows"),
        ("SELECT count(*) FROM hook_decisions", "hook_decisions"),
        ("SELECT count(*) FROM events WHERE created_at > now()", ""),
        ("SELECT id FROM hook_actions ORDER BY id DESC LIMIT 5", ""),
    ] {
        let mut psql = server().psql_command(sandbox.database());
        assert!(psql.env("PGAPPNAME", "opsctl nas").args(["-c", statement]).status().unwrap().success());
        let found = server().objections(sandbox.database());
        assert_eq!(found.is_empty(), objection.is_empty(), "{statement}: {found:?}");
        assert!(found.iter().any(|found| found.contains(objection)) || objection.is_empty(), "{found:?}");
    }
}
