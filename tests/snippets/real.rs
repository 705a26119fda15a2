//! Runs snippets with the real interpreters, and asks the guard about them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use chrono::Utc;
use opsctl::hooks::preview::{Explained, Question, preview};
use opsctl::machine::environment::Environment;
use opsctl::machine::request::Request;
use opsctl_policy::model::rights::policy::Tier;
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
    request: Request,
}

/// What the guard answers.
pub struct Tiers {
    /// Whether it is allowed at tiers 1 and 2.
    pub is_allowed: [bool; 2],
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
        let environment = Environment::from_variables(|name| match name {
            "HOME" => Some(folder.path().join("home").into()),
            "CLAUDE_PROJECT_DIR" => Some(folder.path().join("project").into()),
            "CLAUDEOPS_HOSTS" => Some(folder.path().join("project/hosts.yaml").into()),
            _ => None,
        });
        let request = Request::here(environment, Utc::now());
        let room = Self { folder, commands: Commands::load(), search, request };
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

    /// What the guard answers at tiers 1 and 2, as `opsctl explain` does.
    fn asked(&self, snippet: &Snippet) -> Tiers {
        let [one, two] = [Tier::Observe, Tier::Remediate].map(|tier| self.explained(tier, &snippet.command));
        let actions = two.actions.iter();
        let actions = actions
            .filter(|action| ["restart", "stop", "redeploy", "forbidden"].contains(&action.kind.as_str()))
            .map(|action| (action.service.clone(), action.repeats))
            .collect();
        Tiers {
            is_allowed: [&one, &two].map(|one| one.decision != "deny"),
            is_read: two.effect == "reads",
            complains: !two.complaints.is_empty(),
            actions,
            shown: format!(
                "tier 1: {} {:?} tier 2: {} {:?}\n    effect: {} complaints: {:?}\n    actions: {:?}",
                one.decision, one.reasons, two.decision, two.reasons, two.effect, two.complaints, two.actions
            ),
        }
    }

    fn explained(&self, tier: Tier, command: &str) -> Explained {
        let question = Question { text: command.to_owned(), cwd: Some(self.path("work")), tier: Some(tier) };
        preview(&question, &self.request).unwrap_or_else(|error| panic!("{error}: {command}")).explained
    }
}
