//! A state folder of its own for each test, and the program run in it with nothing else around.
#![allow(dead_code, reason = "each test crate uses its own part of it")]

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder that is the project, the state folder and the working directory at once.
pub struct Sandbox {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The program: that of `OPSCTL_PROGRAM`, with which benchmarks measure a release, or the one that cargo has built.
pub fn program() -> OsString {
    std::env::var_os("OPSCTL_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_opsctl").into())
}

impl Sandbox {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), variables: vec![] }
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// The value of a variable of [`Self::with`].
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let found = self.variables.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.into())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("CLAUDEOPS_STATE_DIR", self.folder.path())
            .env("CLAUDE_PROJECT_DIR", self.folder.path())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn opsctl(&self, arguments: &[&str], stdin: &[u8]) -> Run {
        run(self.command(arguments), stdin)
    }

    /// Another program, with the folder and the environment of this one.
    pub fn in_place_of(&self, program: &Path, arguments: &[&str], stdin: &[u8]) -> Run {
        let opsctl = self.command(&[]);
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .envs(opsctl.get_envs().filter_map(|(name, value)| Some((name, value?))));
        run(command, stdin)
    }

    /// The program with further variables.
    pub fn command_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> std::process::Output {
        self.command(arguments).envs(variables.iter().copied()).output().unwrap()
    }

    /// The program in a network namespace with nothing but loopback and what `prepare` (shell) adds to it.
    pub fn in_own_network(&self, prepare: &str, arguments: &[&str], stdin: &str) -> Run {
        let script = format!("ip link set lo up; {prepare}; exec \"$@\"");
        self.in_namespace("--net", &script, arguments, stdin)
    }

    /// The program in a mount namespace; `script` (shell) calls it as `"$@"`.
    pub fn in_own_mounts(&self, script: &str, arguments: &[&str], stdin: &str) -> Run {
        self.in_namespace("--mount", script, arguments, stdin)
    }

    fn in_namespace(&self, kind: &str, script: &str, arguments: &[&str], stdin: &str) -> Run {
        let opsctl = self.command(&[]);
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", kind, "sh", "-ec", script, "sh"])
            .arg(opsctl.get_program())
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .envs(opsctl.get_envs().filter_map(|(name, value)| Some((name, value?))));
        run(command, stdin.as_bytes())
    }

    /// The hook of an event.
    pub fn hook(&self, event: &str, input: &Value) -> Run {
        self.opsctl(&["hook", event], input.to_string().as_bytes())
    }

    /// A command before it runs.
    pub fn before(&self, id: &str, command: &str) -> Run {
        self.hook("pre-tool-use", &call(id, command))
    }

    /// A command after it has run.
    pub fn after(&self, id: &str, command: &str) -> Run {
        self.hook("post-tool-use", &call(id, command))
    }

    /// The end of a message with a call that the client has refused after the hook allowed it.
    pub fn refused(&self, id: &str) -> Run {
        let result = "Permission to use Bash with command docker restart jellyfin has been denied.";
        let calls = json!([{"tool_name": "Bash", "tool_use_id": id, "tool_response": result}]);
        self.hook("post-tool-batch", &json!({"session_id": "sess-abc-123", "tool_calls": calls}))
    }

    /// A query answered by sqlite3 itself.
    pub fn sql(&self, query: &str) -> String {
        sqlite3(&self.path("claudeops.db"), query)
    }

    /// Sets the clock of the ledger: a file has none.
    #[expect(clippy::unused_self, reason = "a ledger on a server has one")]
    pub fn set_clock_of_ledger(&self, _: DateTime<Utc>) {}

    /// Whether there is a ledger.
    pub fn has_ledger(&self) -> bool {
        self.path("claudeops.db").exists()
    }

    /// Waits until what killed processes had begun has ended: it ends with them.
    #[expect(clippy::unused_self, reason = "a server goes on")]
    pub fn until_idle(&self) {}

    /// This sandbox with a ledger that cannot be opened.
    pub fn without_usable_ledger(self) -> Self {
        std::fs::create_dir(self.path("claudeops.db")).unwrap();
        self
    }

    /// Asserts that the database is not damaged.
    pub fn assert_intact(&self) {
        assert_eq!(self.sql("PRAGMA integrity_check"), "ok");
    }

    /// A program, and its input, with which it locks the ledger and prints a line, until its stdin is closed.
    pub fn locking_program(&self) -> (Command, &'static str) {
        let mut command = Command::new("sqlite3");
        command.arg(self.path("claudeops.db"));
        (command, "BEGIN IMMEDIATE; SELECT 'locked';\n")
    }
}

pub fn sqlite3(database: &Path, statements: &str) -> String {
    let mut command = Command::new("sqlite3");
    // Another process may hold the lock: opsctl waits, and so does this query.
    command.args(["-batch", "-bail", "-cmd", ".timeout 10000"]).arg(database);
    let run = run(command, format!("{statements}\n;\n").as_bytes());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{statements}");
    run.stdout.trim_end().to_owned()
}

pub fn call(id: &str, command: &str) -> Value {
    json!({
        "session_id": "sess-abc-123",
        "transcript_path": "/x/y.jsonl",
        "cwd": "/app",
        "permission_mode": "dontAsk",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "as asked"},
        "tool_use_id": id,
    })
}

/// A program of [`Sandbox::command`], called by another program.
pub fn through(outer: &[&str], inner: &Command) -> Command {
    let mut command = Command::new(outer[0]);
    command.args(&outer[1..]).arg(inner.get_program()).args(inner.get_args()).env_clear();
    command.current_dir(inner.get_current_dir().unwrap());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// A run, and how long it took.
pub fn timed(command: Command, stdin: &[u8]) -> (Run, Duration) {
    let started = Instant::now();
    let run = run(command, stdin);
    (run, started.elapsed())
}

fn run(mut command: Command, stdin: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a tool is missing: run tests/setup");
    // A program that does not read its input closes the pipe early; its answer is what counts.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The call is allowed.
pub fn passes(run: &Run) {
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
}

/// A denial in the form that the client honours, on both streams; its reason.
pub fn denied(run: &Run) -> String {
    assert_eq!(run.code, Some(2), "{run:?}");
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let output = &json["hookSpecificOutput"];
    let keys = [&json, output].map(|object| object.as_object().unwrap().len());
    assert_eq!(keys, [1, 3], "other keys spoil the verdict: {json}");
    assert_eq!(
        (&output["hookEventName"], &output["permissionDecision"]),
        (&json!("PreToolUse"), &json!("deny"))
    );
    let reason = output["permissionDecisionReason"].as_str().unwrap().to_owned();
    assert_eq!(run.stderr, format!("{reason}\n"));
    reason
}

/// The version of a ledger that is up to date.
pub const fn schema_version() -> u32 {
    1
}
