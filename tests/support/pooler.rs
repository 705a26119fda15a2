//! `PgBouncer` before a server of the tests, as docs/fleet.md configures it.
#![allow(dead_code, reason = "each test crate uses its own part of it")]

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::database_server::{DatabaseServer, PASSWORD, own, program};

/// A running `PgBouncer`.
pub struct Pooler {
    settings: PathBuf,
    process: Option<Child>,
    port: u16,
}

impl Pooler {
    /// Pools connections to this server, at most this number for each database and role.
    pub fn of(server: &DatabaseServer, connections: usize) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (data, authority) =
            (server.data().display().to_string(), server.authority().display().to_string());
        let users = server.data().join("users.txt");
        // The secrets of the server: from a password, PgBouncer would derive them anew for each connection.
        let secrets = "SELECT format('\"%s\" \"%s\"', rolname, rolpassword) FROM pg_authid WHERE rolpassword IS NOT NULL";
        std::fs::write(&users, server.psql("postgres", secrets)).unwrap();
        let settings = server.data().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host=localhost port={}\n[pgbouncer]\nlisten_addr = localhost\nlisten_port = {port}\nunix_socket_dir =
             pool_mode = transaction\ndefault_pool_size = {connections}\nmax_client_conn = 2000
             auth_type = scram-sha-256\nauth_file = {}
             client_tls_sslmode = require\nclient_tls_cert_file = {data}/server.crt\nclient_tls_key_file = {data}/server.key
             server_tls_sslmode = verify-full\nserver_tls_ca_file = {authority}\n",
            server.port,
            users.display(),
        );
        std::fs::write(&settings, text.replace("\n             ", "\n")).unwrap();
        for path in [&users, &settings] {
            own(path);
        }
        let mut pooler = Self { settings, process: None, port };
        pooler.restart();
        pooler
    }

    /// Ends it, and starts it again.
    pub fn restart(&mut self) {
        self.end();
        let mut pooler = program("/usr/sbin/pgbouncer");
        let log = std::fs::File::create(self.settings.with_extension("log")).unwrap();
        pooler.arg(&self.settings).stdout(log.try_clone().unwrap()).stderr(log);
        self.process = Some(pooler.spawn().expect("PgBouncer is missing: run tests/postgres/setup"));
        let began = Instant::now();
        while TcpStream::connect(("localhost", self.port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "PgBouncer does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended already.
            let _ = process.kill();
            process.wait().unwrap();
        }
    }

    /// The URL of a database.
    pub fn url(&self, server: &DatabaseServer, database: &str) -> String {
        server.url_at(&format!("localhost:{}", self.port), "postgres", PASSWORD, database)
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().unwrap().id()
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", std::fs::read_to_string(self.settings.with_extension("log")).unwrap_or_default());
        }
        self.end();
    }
}
