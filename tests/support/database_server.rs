//! A PostgreSQL server of the tests' own: from the Debian package, in a folder of its own, with TLS.
#![allow(dead_code, reason = "each test crate uses its own part of it")]

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// The password of the role `postgres`.
pub const PASSWORD: &str = "a test's password";

/// A running server.
pub struct DatabaseServer {
    folder: TempDir,
    pub port: u16,
    process: Option<Child>,
}

/// The folder of the server's programs: the newest that is installed.
fn programs() -> PathBuf {
    let versions =
        std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is missing: run tests/postgres/setup");
    let mut versions: Vec<PathBuf> = versions.map(|version| version.unwrap().path().join("bin")).collect();
    versions.retain(|folder| folder.join("postgres").exists());
    versions.sort();
    versions.pop().expect("PostgreSQL is missing: run tests/postgres/setup")
}

/// The user and group that the server runs as: it refuses to run as root.
fn owner() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let id = |option: &str| {
        let output = Command::new("id").args([option, "postgres"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    };
    Some((id("-u"), id("-g")))
}

/// Gives a file to the user that the server runs as.
pub fn own(path: &Path) {
    if let Some((user, group)) = owner() {
        chown(path, Some(user), Some(group)).unwrap();
    }
}

/// A program of the server, or one at a path. It ends with the test.
pub fn program(name: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if let Some((user, group)) = owner() {
        command.args(["--reuid", &user.to_string(), "--regid", &group.to_string(), "--clear-groups"]);
    }
    command.arg(programs().join(name)).env("LC_ALL", "C").env("HOME", "/").stdin(Stdio::null());
    command
}

fn done(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl DatabaseServer {
    /// A new server whose data need not survive a power failure.
    pub fn new() -> Self {
        let mut server = Self::created();
        server.configure("fsync = off\nmax_connections = 300\n");
        server.start();
        server
    }

    /// A new server that syncs each commit to its disk, as in use.
    pub fn durable() -> Self {
        let mut server = Self::created();
        server.configure("max_connections = 300\n");
        server.start();
        server
    }

    /// A new server that does not run yet, with a certificate for `localhost` and the addresses of two networks.
    pub fn created() -> Self {
        let folder = tempfile::tempdir().unwrap();
        own(folder.path());
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let password = folder.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        own(&password);
        let server = Self { folder, port: free_port(), process: None };
        let mut initdb = program("initdb");
        initdb.args([
            "--auth",
            "scram-sha-256",
            "--username",
            "postgres",
            "--encoding",
            "UTF8",
            "--no-sync",
            "--pwfile",
        ]);
        initdb.arg(password).arg("--pgdata").arg(server.data());
        done(initdb);
        server.configure(&format!(
            "port = {}\nssl = on\nlisten_addresses = 'localhost'\nunix_socket_directories = '{}'\n",
            server.port,
            server.folder.path().display()
        ));
        server.certify();
        server
    }

    /// A copy of another server that follows it.
    pub fn replica_of(primary: &Self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        own(folder.path());
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let server = Self { folder, port: free_port(), process: None };
        let mut copy = program("pg_basebackup");
        copy.env("PGPASSWORD", PASSWORD)
            .args(["--host", "localhost", "--port", &primary.port.to_string(), "--username", "postgres"])
            .args(["--write-recovery-conf", "--checkpoint", "fast", "--pgdata"])
            .arg(server.data());
        done(copy);
        server.configure(&format!(
            "port = {}\nunix_socket_directories = '{}'\n",
            server.port,
            server.folder.path().display()
        ));
        std::fs::copy(primary.authority(), server.authority()).unwrap();
        server
    }

    /// Accepts connections from other machines, too.
    pub fn open_to_networks(&self) {
        self.configure("listen_addresses = '*'\n");
        let path = self.data().join("pg_hba.conf");
        let rules = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, rules + "host all all 10.0.0.0/8 scram-sha-256\n").unwrap();
    }

    /// The folder of its data.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The certificate of the authority that has signed its own.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    fn certify(&self) {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // A name of its own: OpenSSL takes a certificate of the same name for one that has signed itself.
        params.distinguished_name.push(DnType::CommonName, "the authority of a test");
        let key = KeyPair::generate().unwrap();
        std::fs::write(self.authority(), params.self_signed(&key).unwrap().pem()).unwrap();
        let authority = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let names = ["localhost", "127.0.0.1", "10.0.1.1", "10.0.2.1"].map(str::to_owned);
        let names = CertificateParams::new(names).unwrap();
        let certificate = names.signed_by(&key, &authority).unwrap();
        self.keep_certificate(&certificate.pem(), &key);
    }

    /// Gives it a certificate for `localhost` that it has signed itself. Returns the file.
    pub fn certify_itself(&self, is_authority: bool) -> PathBuf {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.is_ca =
            if is_authority { IsCa::Ca(BasicConstraints::Unconstrained) } else { IsCa::ExplicitNoCa };
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        self.keep_certificate(&certificate, &key);
        let path = self.folder.path().join("own.pem");
        std::fs::write(&path, certificate).unwrap();
        path
    }

    fn keep_certificate(&self, certificate: &str, key: &KeyPair) {
        for (name, text) in [("server.crt", certificate), ("server.key", &key.serialize_pem())] {
            let path = self.data().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            own(&path);
        }
    }

    /// Adds lines to its configuration.
    pub fn configure(&self, lines: &str) {
        use std::io::Write as _;
        let path = self.data().join("postgresql.conf");
        let mut file = std::fs::File::options().append(true).open(path).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
    }

    /// Starts it, and waits until it answers.
    pub fn start(&mut self) {
        let mut command = program("postgres");
        let log = std::fs::File::create(self.folder.path().join("log")).unwrap();
        command.arg("-D").arg(self.data()).stdout(log.try_clone().unwrap()).stderr(log);
        self.process = Some(command.spawn().unwrap());
        let began = Instant::now();
        loop {
            let mut ready = program("pg_isready");
            ready.args(["-h", "localhost", "-p", &self.port.to_string(), "-t", "1"]).stdout(Stdio::null());
            if ready.status().unwrap().success() {
                return;
            }
            let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_mins(1), "the server does not answer: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// How long the server's own client library needs to connect over TLS and run nothing.
    pub fn connection_time(&self) -> Duration {
        let script = self.folder.path().join("nothing.sql");
        std::fs::write(&script, "SELECT 1;\n").unwrap();
        let mut bench = program("pgbench");
        bench
            .env("PGPASSWORD", PASSWORD)
            .env("PGSSLMODE", "require")
            .args(["-h", "localhost", "-p", &self.port.to_string(), "-U", "postgres"])
            .args(["--connect", "--no-vacuum", "--transactions", "60", "--file"])
            .arg(script)
            .arg("postgres");
        let output = bench.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix("average connection time = "));
        let line = line.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        Duration::from_secs_f64(line.trim_end_matches(" ms").parse::<f64>().unwrap() / 1000.0)
    }

    /// The id of its main process.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().unwrap().id()
    }

    /// Sends a signal to all processes of the server.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let Some(process) = &self.process else { return };
        let id = process.id().to_string();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        for id in [id.as_str()].into_iter().chain(children.split_whitespace()) {
            let pid = rustix::process::Pid::from_raw(id.parse().unwrap()).unwrap();
            // A child may have ended meanwhile.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Ends it at once, as a power failure would (`KILL`), or after its clients have been disconnected (`INT`).
    pub fn end(&mut self, signal: rustix::process::Signal) {
        if signal == rustix::process::Signal::KILL {
            self.signal(signal);
        }
        let Some(mut process) = self.process.take() else { return };
        let pid = rustix::process::Pid::from_child(&process);
        // It may have ended already.
        let _ = rustix::process::kill_process(pid, signal);
        process.wait().unwrap();
        let _ = std::fs::remove_file(self.data().join("postmaster.pid"));
    }

    /// What psql says to a role that may not run a statement.
    pub fn refusal(&self, role: &str, database: &str, statement: &str) -> String {
        let output = self.psql_command(database).args(["-U", role, "-c", statement]).output().unwrap();
        assert!(!output.status.success(), "{statement} is allowed");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// The server's log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// A session that has run these statements, until it is dropped.
    pub fn holding(&self, database: &str, statements: &str) -> Holding {
        use std::io::Write as _;
        let mut command = program("psql");
        command
            .env("PGPASSWORD", PASSWORD)
            .env("PGAPPNAME", "holding")
            .args(["-h", "localhost", "-p", &self.port.to_string(), "-U", "postgres", "-d", database])
            .args(["--no-psqlrc", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut psql = command.spawn().unwrap();
        writeln!(psql.stdin.as_mut().unwrap(), "{statements};").unwrap();
        let done = "SELECT count(*) FROM pg_stat_activity
            WHERE application_name = 'holding' AND state LIKE 'idle%' AND query <> ''";
        while self.psql("postgres", done) != "1" {
            assert!(psql.try_wait().unwrap().is_none(), "{statements}");
        }
        Holding(psql)
    }

    /// Makes a replica accept changes.
    pub fn promote(&self) {
        self.psql("postgres", "SELECT pg_promote()");
    }

    /// A new, empty database.
    pub fn database(&self, name: &str) -> String {
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        self.url("postgres", PASSWORD, name)
    }

    /// The URL of a database for a role.
    pub fn url(&self, role: &str, password: &str, database: &str) -> String {
        self.url_at(&format!("localhost:{}", self.port), role, password, database)
    }

    /// The URL of a database for a role, at addresses `HOST:PORT` that are separated by commas.
    pub fn url_at(&self, addresses: &str, role: &str, password: &str, database: &str) -> String {
        let password: String = url::form_urlencoded::byte_serialize(password.as_bytes()).collect();
        format!(
            "postgres://{role}:{}@{addresses}/{database}?sslrootcert={}",
            password.replace('+', "%20"),
            self.authority().display()
        )
    }

    /// psql, which reads statements from its stdin.
    pub fn psql_command(&self, database: &str) -> Command {
        let mut command = program("psql");
        command
            .env("PGPASSWORD", PASSWORD)
            .env("PGOPTIONS", "-c TimeZone=UTC")
            .args(["-h", "localhost", "-p", &self.port.to_string(), "-U", "postgres", "-d", database])
            .args(["--no-psqlrc", "--tuples-only", "--no-align", "--quiet", "-v", "ON_ERROR_STOP=1"]);
        command
    }

    /// The answer of psql: columns separated by `|`, as sqlite3 prints them.
    pub fn psql(&self, database: &str, statements: &str) -> String {
        let output = self.psql_command(database).args(["-c", statements]).output().unwrap();
        assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

/// A session of psql.
pub struct Holding(Child);

impl Drop for Holding {
    fn drop(&mut self) {
        // Its input ends, and so does its session.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

impl Drop for DatabaseServer {
    fn drop(&mut self) {
        // A test that has failed may have stopped it.
        self.signal(rustix::process::Signal::CONT);
        self.end(rustix::process::Signal::QUIT);
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
