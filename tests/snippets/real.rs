//! Runs snippets with the real interpreters, and asks the guard about them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::generator::{Commands, Snippet};

/// The programs that are replaced.
const STAND_INS: [&str; 5] = ["docker", "systemctl", "journalctl", "df", "free"];

/// How long a snippet may take, in seconds.
const LONGEST: &str = "20";

/// The inventory and the policy: what is in `tests/snippets/hosts.yaml`.
const HOSTS: &str = include_str!("hosts.yaml");

/// The folder of the real Python: a `python3` in the search path may be a slow script that looks for it.
fn folder_of_python() -> String {
    let script = "import os, sys; print(os.path.dirname(os.path.realpath(sys.executable)))";
    let output = Command::new("python3").args(["-c", script]).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// A folder for runs: stand-ins, a working directory, an inventory.
pub struct Room {
    folder: TempDir,
    commands: Commands,
    search: String,
}

/// What the guard answers.
pub struct Tiers {
    /// At tier 1.
    pub is_allowed_at_1: bool,
    /// At tier 2.
    pub is_allowed_at_2: bool,
    pub is_read: bool,
    pub complains: bool,
    /// Service and whether it repeats.
    pub actions: Vec<(Option<String>, bool)>,
    /// For a report.
    pub shown: String,
}

impl Room {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let bin = folder.path().join("bin");
        let search = format!("{}:{}:{}", bin.display(), folder_of_python(), std::env::var("PATH").unwrap());
        let room = Self { folder, commands: Commands::load(), search };
        for name in ["bin", "home", "project"] {
            fs::create_dir(room.path(name)).unwrap();
        }
        fs::write(room.path("project/hosts.yaml"), HOSTS).unwrap();
        for name in STAND_INS {
            room.program(name, &format!("echo \"{name} $*\" >> \"$SNIPPET_LOG\""));
        }
        room.program("sudo", "exec \"$@\"");
        room
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, body: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The services that a snippet acts on, once for each command that ran, and what the guard says.
    pub fn run(&self, snippet: &Snippet) -> (Vec<String>, Tiers) {
        let work = self.path("work");
        drop(fs::remove_dir_all(&work));
        fs::create_dir(&work).unwrap();
        if let Some((name, text)) = &snippet.file {
            fs::write(work.join(name), text).unwrap();
        }
        let tiers = self.asked(snippet);
        if !snippet.stated.is_empty() {
            return (snippet.stated.clone(), tiers);
        }
        let log = self.path("log");
        fs::write(&log, "").unwrap();
        let child = Command::new("timeout")
            .args([LONGEST, "bash", "-c", &snippet.command])
            .current_dir(&work)
            .env_clear()
            .env("PATH", &self.search)
            .env("HOME", self.path("home"))
            .env("SNIPPET_LOG", &log)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        // A child that nothing waits for.
        if fs::read_to_string(&log).unwrap().is_empty() && child.status.success() {
            std::thread::sleep(Duration::from_millis(30));
        }
        let log = fs::read_to_string(&log).unwrap();
        let ran = log.lines().filter_map(|line| self.commands.service(line)).map(str::to_owned);
        let ran: Vec<String> = ran.collect();
        let mut tiers = tiers;
        if log.is_empty() {
            let stderr = String::from_utf8_lossy(&child.stderr);
            tiers.shown += &format!("\n    stderr: {}", stderr.trim().lines().last().unwrap_or_default());
        }
        (ran, tiers)
    }

    fn asked(&self, snippet: &Snippet) -> Tiers {
        let [one, two] = ["1", "2"].map(|tier| self.explain(tier, &snippet.command));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let actions = two["actions"].as_array().unwrap().iter();
        let actions = actions
            .filter(|action| {
                ["restart", "stop", "redeploy", "forbidden"].contains(&text(&action["kind"]).as_str())
            })
            .map(|action| {
                (action["service"].as_str().map(str::to_owned), action["repeats"] == Value::Bool(true))
            })
            .collect();
        let allowed = |answer: &Value| text(&answer["decision"]) != "deny";
        Tiers {
            is_allowed_at_1: allowed(&one),
            is_allowed_at_2: allowed(&two),
            is_read: text(&two["effect"]) == "reads",
            complains: two["complaints"].as_array().is_some_and(|complaints| !complaints.is_empty()),
            actions,
            shown: format!(
                "tier 1: {} {} tier 2: {} {}\n    effect: {} complaints: {}\n    actions: {}",
                one["decision"],
                one["reasons"],
                two["decision"],
                two["reasons"],
                two["effect"],
                two["complaints"],
                two["actions"]
            ),
        }
    }

    fn explain(&self, tier: &str, command: &str) -> Value {
        let mut child = Command::new(env!("CARGO_BIN_EXE_opsctl"))
            .args(["explain", "--json", "--tier", tier, "--cwd"])
            .arg(self.path("work"))
            .arg("-")
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("CLAUDE_PROJECT_DIR", self.path("project"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(command.as_bytes()).unwrap();
        let Output { stdout, stderr, .. } = child.wait_with_output().unwrap();
        serde_json::from_slice(&stdout)
            .unwrap_or_else(|error| panic!("{error}: {command}\n{}", String::from_utf8_lossy(&stderr)))
    }
}
