//! A desk with questions, in a state folder of its own.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use chrono::Utc;
use opsctl::guard::approval::desk_key::DeskKey;
use opsctl::guard::approval::{key, link};
use opsctl_ledger::Ledger;

use super::http::{self, Answer, form};
use crate::sandbox::Sandbox;

/// The state of a desk, which outlives its process.
pub struct State {
    pub sandbox: Sandbox,
}

/// A running desk.
pub struct Server {
    process: Child,
    pub address: SocketAddr,
}

impl State {
    pub fn new() -> Self {
        Self::of(Sandbox::new())
    }

    pub fn of(sandbox: Sandbox) -> Self {
        let pair = key::create(&sandbox.path("approval.key")).unwrap();
        sandbox.write(
            "hosts.yaml",
            &format!(
                "domain: lab.example\nhosts: {{ie01: {{address: 127.0.0.1}}, attic: {{address: 192.0.2.1}}}}\n\
                 services: {{jellyfin: {{host: ie01}}, adguard: {{}}, nginx: {{}}}}\n\
                 policy: {{ask: [budget], approval_key: \"{}\"}}\n",
                key::public(&pair)
            ),
        );
        sandbox.write("cooldown.json", "{}");
        drop(Ledger::open(&sandbox.path("claudeops.db")).unwrap());
        Self { sandbox }
    }

    /// Starts the desk on a free port of this machine.
    pub fn start(&self) -> Server {
        self.start_at("127.0.0.1:0")
    }

    /// Starts the desk at this address.
    pub fn start_at(&self, address: &str) -> Server {
        Server::of(self.sandbox.command(&["serve", "--listen", address]))
    }

    /// Starts the desk in the network of another process.
    pub fn start_beside(&self, pid: u32) -> Server {
        let folder = self.sandbox.path("");
        let variables = ["CLAUDEOPS_STATE_DIR", "CLAUDE_PROJECT_DIR"].map(|name| (name, folder.clone()));
        Server::beside(pid, &folder, &variables)
    }

    /// Stores a question about a command; its number.
    pub fn ask(&self, command: &str) -> i64 {
        let text = command.replace('\'', "''");
        let id = self.sandbox.sql(&format!(
            "INSERT INTO questions (session_id, tool_use_id, digest, command, actions, service, reasons, tier, words, asked_at, expires_at)
             VALUES ('5f0c4b1e-1d2c-4e55-9d0a-2f6f1f3c7a10', 'toolu_1', 'd1', '{text}', '[\"restart of jellyfin on ie01\"]', 'jellyfin',
                 '[\"Cooldown limit exceeded for jellyfin: 2/2 restarts in last 4h. Next allowed at 2026-03-21T18:00:00Z.\"]', 2,
                 'Jellyfin still answers 502 after two restarts. The log shows that its database was locked by a backup, which has ended now. One more restart should bring it back.',
                 strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-3 minutes'), strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '+27 minutes'));
             SELECT last_insert_rowid()"
        ));
        id.parse().unwrap()
    }

    /// The answers as `question|answer|by|note`, one a line.
    pub fn answers(&self) -> String {
        self.sandbox.sql(
            "SELECT question_id, answer, answered_by, coalesce(note, '') FROM question_answers ORDER BY question_id",
        )
    }

    /// The path and query of a link to a question.
    pub fn link(&self, question: i64) -> String {
        let key = DeskKey::open(&self.sandbox.path("")).unwrap();
        let ledger = Ledger::open(&self.sandbox.path("claudeops.db")).unwrap();
        link::address("", &key, &ledger.question(question, Utc::now()).unwrap().unwrap())
    }

    pub fn token(&self) -> String {
        self.sandbox.read("desk-token").trim().to_owned()
    }
}

impl Server {
    /// The desk at port 8080 in the network of another process.
    pub fn beside(pid: u32, folder: &Path, variables: &[(&str, PathBuf)]) -> Self {
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &pid.to_string(), "--user", "--net", "--preserve-credentials"])
            .args([env!("CARGO_BIN_EXE_opsctl"), "serve", "--listen", "127.0.0.1:8080"])
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .envs(variables.iter().map(|(name, value)| (name, value)));
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("the desk does not start").unwrap();
            if let Some(address) = line.strip_prefix("desk: http://") {
                break address.parse().unwrap();
            }
        };
        Self { process, address }
    }

    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        http::send(self.address, "GET", path, headers, "")
    }

    pub fn post(&self, path: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Answer {
        http::send(self.address, "POST", path, headers, &form(fields))
    }

    /// Logs in. Returns the cookie.
    pub fn log_in(&self, token: &str) -> String {
        let answer = self.post("/login", &[], &[("token", token)]);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{answer:?}");
        answer.cookie()
    }

    /// Ends the process without warning.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Asks the process to end. Returns its exit code.
    pub fn end(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.process.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
