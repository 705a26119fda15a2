//! One server for all tests that need nothing of it but a database.

use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::database_server::{DatabaseServer, PASSWORD};
use crate::plans::{self, Plans};

/// The server.
pub struct SharedServer {
    server: DatabaseServer,
    plans: Plans,
}

/// What SQLite has and the tests use, for their own queries; and a clock that a test sets, which hides that of the server.
const PATTERN: &str = "
    CREATE SCHEMA sqlite;
    CREATE AGGREGATE sqlite.group_concat (TEXT, TEXT) (SFUNC = string_agg_transfn, STYPE = internal, FINALFUNC = string_agg_finalfn);
    CREATE FUNCTION sqlite.comma(state TEXT, more TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE
        AS $$ SELECT coalesce(state || ',', '') || more $$;
    CREATE AGGREGATE sqlite.group_concat (TEXT) (SFUNC = sqlite.comma, STYPE = TEXT);
    CREATE FUNCTION sqlite.datetime(TEXT, TEXT DEFAULT '0 s') RETURNS TIMESTAMPTZ LANGUAGE sql
        AS $$ SELECT pg_catalog.now() + $2::INTERVAL $$;
    CREATE FUNCTION sqlite.strftime(TEXT, TEXT, TEXT DEFAULT '0 s') RETURNS TIMESTAMPTZ LANGUAGE sql
        AS $$ SELECT date_trunc('second', pg_catalog.now() + $3::INTERVAL) $$;
    CREATE SCHEMA amcheck;
    CREATE EXTENSION amcheck SCHEMA amcheck;
    CREATE SCHEMA test;
    CREATE TABLE test.clock (now TIMESTAMPTZ);
    CREATE FUNCTION test.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql VOLATILE
        AS $$ SELECT coalesce((SELECT now FROM test.clock), pg_catalog.clock_timestamp()) $$";

/// The server, which ends with the test program.
pub fn server() -> &'static SharedServer {
    static SERVER: OnceLock<SharedServer> = OnceLock::new();
    SERVER.get_or_init(|| {
        let (ready, started) = std::sync::mpsc::channel();
        // Its processes end with the thread that starts them.
        std::thread::spawn(move || {
            let mut server = DatabaseServer::created();
            server
                .configure("fsync = off\nmax_connections = 700\nsearch_path = 'public, test, pg_catalog'\n");
            server.configure(plans::CONFIGURATION);
            server.start();
            remove_at_the_end(&server);
            server.psql("postgres", "CREATE DATABASE pattern");
            server.psql("pattern", PATTERN);
            ready.send(server).unwrap();
            loop {
                std::thread::park();
            }
        });
        let server = started.recv().unwrap();
        let plans = Plans::of(&server);
        SharedServer { server, plans }
    })
}

/// A static value is not dropped: removes the folder of a server when this process has ended, however it ends.
#[expect(clippy::zombie_processes, reason = "it ends after this process")]
fn remove_at_the_end(server: &DatabaseServer) {
    let mut keeper = Command::new("sh");
    keeper.args(["-c", "cat; sleep 1; rm -rf \"$1\"", "sh"]).arg(server.data().parent().unwrap());
    let mut keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // It ends when this process closes the pipe by its end.
    std::thread::spawn(move || {
        let _pipe = keeper.stdin.take();
        loop {
            std::thread::park();
        }
    });
}

impl SharedServer {
    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        self.server.url("postgres", PASSWORD, database)
    }

    /// The objections to the plans of statements that opsctl has sent to a database since the last call.
    pub fn objections(&self, database: &str) -> Vec<String> {
        self.plans.objections(&self.server, database, f64::MAX)
    }

    /// An interactive psql.
    pub fn psql_command(&self, database: &str) -> Command {
        self.server.psql_command(database)
    }
}

/// A database, which is dropped with this value.
pub struct Database {
    pub name: String,
    connection: Mutex<(Runtime, Client)>,
}

fn connected(database: &str) -> (Runtime, Client) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(async {
        let mut config = tokio_postgres::Config::new();
        let server = &server().server;
        config.host_path(server.data().parent().unwrap()).port(server.port);
        config.user("postgres").password(PASSWORD).dbname(database);
        config.options("-c search_path=public,sqlite,test -c TimeZone=UTC");
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    });
    (runtime, client)
}

impl Database {
    /// A new, empty database.
    pub fn new(name: &str) -> Self {
        static CREATION: Mutex<()> = Mutex::new(());
        let turn = CREATION.lock().unwrap();
        server().server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE pattern"));
        drop(turn);
        Self { name: name.to_owned(), connection: Mutex::new(connected(name)) }
    }

    /// The rows of the last query: columns separated by `|`, booleans and times as opsctl writes them to a file.
    pub fn sql(&self, query: &str) -> String {
        let connection = self.connection.lock().unwrap();
        let (runtime, client) = &*connection;
        let messages = runtime.block_on(client.simple_query(query));
        let messages = messages.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        let mut lines = vec![];
        for message in messages {
            if let SimpleQueryMessage::Row(row) = message {
                let columns: Vec<String> =
                    (0..row.len()).map(|column| as_in_a_file(row.get(column).unwrap_or(""))).collect();
                lines.push(columns.join("|"));
            }
        }
        lines.join("\n").trim_end().to_owned()
    }
}

fn as_in_a_file(value: &str) -> String {
    match value {
        "t" => "1".to_owned(),
        "f" => "0".to_owned(),
        _ => match chrono::DateTime::parse_from_str(&format!("{value}00"), "%Y-%m-%d %H:%M:%S%.f%z") {
            Ok(time) => time.to_utc().to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true),
            Err(_) => value.to_owned(),
        },
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let objections = server().objections(&self.name);
        let (runtime, client) = connected("postgres");
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        // A test that has failed reports its own cause.
        let _ = runtime.block_on(client.simple_query(&drop));
        assert!(objections.is_empty() || std::thread::panicking(), "{objections:#?}");
    }
}
