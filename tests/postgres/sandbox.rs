//! The sandbox of `tests/ledger` with its ledger in a database of its own, on a server that all tests of this program share.

use std::ops::Deref;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

pub use on_file::{Run, call, denied, passes, schema_version, through};

use crate::shared_server::{Database, server};

#[path = "../support/sandbox.rs"]
pub mod on_file;

/// An input that has the fields of every event of a session.
pub fn of_any_event() -> Value {
    json!({
        "session_id": "sess-abc-123", "cwd": "/app", "source": "startup", "reason": "other", "prompt": "x",
        "tool_use_id": "t9", "agent_id": "a1", "agent_type": "x", "message": "m", "title": "t",
        "tool_calls": [{"tool_use_id": "t9"}], "error": "rate_limit", "last_assistant_message": "done",
    })
}

/// A file sandbox whose ledger is on the server.
pub struct Sandbox {
    files: on_file::Sandbox,
    database: Database,
}

impl Deref for Sandbox {
    type Target = on_file::Sandbox;

    fn deref(&self) -> &on_file::Sandbox {
        &self.files
    }
}

impl Sandbox {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let database = Database::new(&format!("sandbox{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let files = on_file::Sandbox::new().with("CLAUDEOPS_DB_URL", &server().url(&database.name));
        Self { files, database }
    }

    pub fn with(self, name: &str, value: &str) -> Self {
        Self { files: self.files.with(name, value), database: self.database }
    }

    /// The name of the database.
    pub fn database(&self) -> &str {
        &self.database.name
    }

    /// A query answered by the server itself, in the form of sqlite3.
    pub fn sql(&self, query: &str) -> String {
        self.database.sql(query)
    }

    /// Sets the clock of the server, for this ledger only.
    pub fn set_clock_of_ledger(&self, now: DateTime<Utc>) {
        let now = now.to_rfc3339_opts(SecondsFormat::Secs, true);
        self.sql(&format!("DELETE FROM test.clock; INSERT INTO test.clock VALUES ('{now}')"));
    }

    /// Whether there is a ledger.
    pub fn has_ledger(&self) -> bool {
        self.sql("SELECT to_regclass('public.opsctl_migrations') IS NOT NULL") == "1"
    }

    /// Waits until the server has ended what killed processes had begun.
    pub fn until_idle(&self) {
        let others = "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
        while self.sql(others) != "0" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// This sandbox with a ledger on a server that is not there.
    pub fn without_usable_ledger(self) -> Self {
        self.with("CLAUDEOPS_DB_URL", "postgres://nobody@localhost:1/none")
    }

    /// Asserts that the indexes agree with their tables.
    pub fn assert_intact(&self) {
        self.sql(
            "SELECT amcheck.bt_index_check(c.oid, TRUE) FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
                 JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND i.indisvalid",
        );
    }

    /// A program, and its input, with which it locks the ledger and prints a line, until its stdin is closed.
    pub fn locking_program(&self) -> (Command, &'static str) {
        let locks = "BEGIN; SELECT pg_advisory_xact_lock(1869640547, 0);\n";
        (server().psql_command(&self.database.name), locks)
    }
}
