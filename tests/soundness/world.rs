//! Real bash with stand-ins for all programs that act: they record their arguments and change nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;
use std::{env, thread};

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, set_child_subreaper, waitpgid};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::program::quoted;

/// Programs that act, and lookups. The stand-in of `sudo`, `ssh` and others runs its words.
const STAND_INS: [&str; 10] =
    ["docker", "systemctl", "kubectl", "rm", "ansible-playbook", "reboot", "ssh", "sudo", "time", "curl"];
/// Programs of the machine that only print, or run others.
const REAL: [&str; 21] = [
    "bash", "sh", "cat", "env", "xargs", "grep", "seq", "tr", "head", "ls", "tee", "timeout", "sed", "nohup",
    "test", "wc", "sort", "ln", "mkdir", "touch", "echo",
];
/// How long a program may run, in tenths of a second.
const LONGEST: u32 = 8;

/// What a program finds when it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Input {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Files below the working directory, with their text; a folder ends with `/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<(String, String)>,
    /// What `systemctl is-active p0` to `p3` exit with.
    pub probes: [u8; 4],
    /// What `docker ps -q` prints.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub listed: String,
}

impl Input {
    /// The input without what a program with this text cannot look at.
    pub fn seen_by(mut self, text: &str) -> Self {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let sees_args = ["$", "${", "${#", "${!"].iter().any(|begin| {
            ('0'..='9').chain("@*#".chars()).any(|name| text.contains(&format!("{begin}{name}")))
        });
        if !sees_args && !has(&["shift", "getopts", "for ", "select ", "BASH_ARG", "(("]) {
            self.args.clear();
        }
        if !has(&["set\n", "set;", "set|", "set |", "-p", "env"]) {
            self.env.retain(|(name, _)| text.contains(name.as_str()));
        }
        if !has(&["*", "?", "["]) {
            self.files.retain(|(name, _)| text.contains(name.trim_end_matches('/')));
        }
        if !has(&["is-active"]) {
            self.probes = [0; 4];
        }
        if !has(&["ps"]) {
            self.listed.clear();
        }
        self
    }

    /// What it holds, without what is empty.
    pub fn shown(&self) -> String {
        let mut shown = format!("args {:?}", self.args);
        for (name, value) in &self.env {
            shown.push_str(&format!(" {name}={}", quoted(value)));
        }
        for (name, _) in &self.files {
            shown.push_str(&format!(" file {name}"));
        }
        for (number, exit) in self.probes.iter().enumerate().filter(|(_, exit)| **exit > 0) {
            shown.push_str(&format!(" p{number} exits {exit}"));
        }
        shown
    }
}

/// The words of a stand-in's call.
pub type Call = Vec<String>;

/// A folder with stand-ins, a log and a working directory, for one program at a time.
pub struct World {
    root: TempDir,
    /// The process group that runs, or 0.
    running: &'static AtomicI32,
}

impl World {
    pub fn new() -> Self {
        // Processes in the background are waited for when their shell has ended.
        set_child_subreaper(Pid::from_raw(1)).expect("prctl works");
        let root = tempfile::Builder::new().prefix("soundness").tempdir().expect("a folder");
        let bin = root.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::create_dir(root.path().join("here")).unwrap();
        let log = root.path().join("log");
        let stand_in = root.path().join("stand-in");
        fs::write(&stand_in, STAND_IN.replace("LOG", log.to_str().unwrap())).unwrap();
        fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).unwrap();
        for name in STAND_INS {
            symlink(&stand_in, bin.join(name)).unwrap();
        }
        for name in REAL {
            let path = env::var_os("PATH").expect("a path");
            // Scripts for `sh` are read as bash reads them, with braces and `$'…'`.
            let program = if name == "sh" { "bash" } else { name };
            let found = env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.exists());
            symlink(found.unwrap_or_else(|| panic!("{name} is not installed")), bin.join(name)).unwrap();
        }
        let world = Self { root, running: Box::leak(Box::default()) };
        world.watch();
        world
    }

    /// The working directory of programs.
    pub fn here(&self) -> PathBuf {
        self.root.path().join("here")
    }

    /// Ends programs that run for too long.
    fn watch(&self) {
        let running = self.running;
        thread::spawn(move || {
            let (mut before, mut ticks) = (0, 0);
            loop {
                thread::sleep(Duration::from_millis(100));
                let now = running.load(Ordering::SeqCst);
                ticks = if now == before && now != 0 { ticks + 1 } else { 0 };
                before = now;
                if ticks > LONGEST {
                    let _ = Pid::from_raw(now).map(|pid| kill_process_group(pid, Signal::KILL));
                }
            }
        });
    }

    /// Runs a command, and returns the calls of stand-ins in their order; `None` if it does not end in time.
    pub fn run(&self, command: &str, input: &Input, files: &BTreeMap<String, String>) -> Option<Vec<Call>> {
        let (here, log) = (self.here(), self.root.path().join("log"));
        clear(&here);
        let _ = fs::remove_file(&log);
        for (name, text) in input.files.iter().map(|(name, text)| (here.join(name), text)) {
            if name.to_string_lossy().ends_with('/') {
                fs::create_dir(&name).unwrap();
            } else {
                fs::write(&name, text).unwrap();
            }
        }
        for (path, text) in files {
            fs::write(path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let probes =
            input.probes.iter().enumerate().map(|(n, exit)| (format!("PROBE_p{n}"), exit.to_string()));
        #[expect(clippy::zombie_processes, reason = "all processes of its group are waited for below")]
        let child = Command::new("/bin/bash")
            .args(["-c", command])
            .current_dir(&here)
            .env_clear()
            .env("PATH", self.root.path().join("bin"))
            .env("HOME", &here)
            .env("LISTED", &input.listed)
            .envs(probes)
            .envs(input.env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(if env::var_os("SHOW").is_some() { Stdio::inherit() } else { Stdio::null() })
            .process_group(0)
            .spawn()
            .expect("bash starts");
        let id = i32::try_from(child.id()).unwrap();
        self.running.store(id, Ordering::SeqCst);
        let group = Pid::from_raw(id).unwrap();
        let mut killed = false;
        while let Ok(ended) = waitpgid(group, WaitOptions::empty()) {
            killed |= ended.is_some_and(|(_, status)| status.terminating_signal() == Some(9));
        }
        self.running.store(0, Ordering::SeqCst);
        (!killed).then(|| calls(&fs::read(&log).unwrap_or_default()))
    }
}

fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = fs::remove_dir_all(entry.path());
        } else {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The calls in a log: the number of words, the program and the words, each ended by NUL.
fn calls(log: &[u8]) -> Vec<Call> {
    let text = String::from_utf8_lossy(log);
    let mut words = text.split_terminator('\0').map(str::to_owned);
    let mut calls = Vec::new();
    while let Some(count) = words.next() {
        let count: usize = count.parse().expect("a number of words");
        calls.push(words.by_ref().take(count + 1).collect());
    }
    calls
}

const STAND_IN: &str = r#"#!/bin/sh
name=${0##*/}
case $name in
ssh) shift; exec bash -c "$*" ;;
sudo) exec "$@" ;;
time) [ "$1" != -p ] || shift; [ $# -gt 0 ] || exit 125; "$@"; exit ;;
esac
printf '%s\0' $# "$name" "$@" >>LOG
case $name$1 in
systemctlis-active) for last; do :; done; case $last in p[0-3]) eval "exit \$PROBE_$last" ;; esac ;;
dockerps) [ -z "$LISTED" ] || printf '%s\n' $LISTED ;;
esac
exit 0
"#;
