//! The folders of a session: project, home, state, stub programs and the marks that these leave.

use super::namespace;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Programs that are stubs in every session: they could reach a service of this machine through a socket file, which
/// no network namespace prevents, or are what tests watch for.
const ALWAYS_STUBS: &[&str] = &[
    "ansible-playbook",
    "apprise",
    "docker",
    "docker-compose",
    "gh",
    "glab",
    "helm",
    "kubectl",
    "nerdctl",
    "podman",
    "reboot",
    "service",
    "shutdown",
    "ssh",
    "sudo",
    "systemctl",
    "tea",
];

/// Between the words of a mark, and after its last one: bytes that no argument of a test contains.
const WORD_END: char = '\u{1f}';
const MARK_END: char = '\u{1e}';

/// A mark that a stub ran, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub program: String,
    pub arguments: Vec<String>,
}

/// The folders, removed when dropped. Several sessions, one after the other or at once, may share them.
#[derive(Debug)]
pub struct Workspace {
    folder: TempDir,
}

impl Workspace {
    pub fn new() -> Self {
        namespace::require();
        let workspace = Self { folder: TempDir::with_prefix("opsctl-e2e-").unwrap() };
        for folder in ["project", "home", "state", "results", "repos", "bin", "tmp", "streams"] {
            fs::create_dir(workspace.path(folder)).unwrap();
        }
        workspace.put_program("opsctl", Path::new(env!("CARGO_BIN_EXE_opsctl")));
        for program in ALWAYS_STUBS {
            workspace.put_stub(program, "exit 0");
        }
        workspace
    }

    /// A path in the workspace, such as `state/claudeops.db`.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// The folder in which the client runs.
    pub fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// The folder of `CLAUDEOPS_STATE_DIR`.
    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    fn ledger(&self) -> PathBuf {
        self.state().join("claudeops.db")
    }

    pub fn read(&self, inside: &str) -> String {
        let path = self.path(inside);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn write(&self, inside: &str, content: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Everything that a program in this workspace finds in its environment.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let path = |inside| self.path(inside).display().to_string();
        // The stubs come first, so that the real program of that name, if there is one, is never started.
        let search_path = path("bin") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        vec![
            ("PATH", search_path),
            ("HOME", path("home")),
            ("TMPDIR", path("tmp")),
            ("LANG", "C.UTF-8".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("CLAUDEOPS_HOSTS", path("hosts.yaml")),
            ("CLAUDEOPS_STATE_DIR", path("state")),
            ("CLAUDEOPS_RESULTS_DIR", path("results")),
            ("CLAUDEOPS_REPOS_DIR", path("repos")),
        ]
    }

    /// Makes `program` leave a [`Mark`] whenever it runs, and then run this shell script, which has the arguments in
    /// `"$@"`.
    pub fn put_stub(&self, program: &str, behaviour: &str) {
        let marks = self.path("marks");
        let script = format!(
            "#!/bin/sh\n\
             mark={program}\n\
             for argument; do mark=\"$mark{WORD_END}$argument\"; done\n\
             printf '%s{MARK_END}' \"$mark\" >> '{}'\n\
             {behaviour}\n",
            marks.display(),
        );
        let path = self.path("bin").join(program);
        let _ = fs::remove_file(&path); // a link to the real program, where there is one
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Puts a real program on PATH, replacing any stub of this name.
    pub fn put_program(&self, name: &str, program: &Path) {
        let path = self.path("bin").join(name);
        let _ = fs::remove_file(&path); // the stub of that name, where there is one
        symlink(program, path).unwrap();
    }

    /// Every mark, in order.
    pub fn all_marks(&self) -> Vec<Mark> {
        let marks = fs::read_to_string(self.path("marks")).unwrap_or_default();
        let words = marks.split_terminator(MARK_END).map(|mark| mark.split(WORD_END).map(str::to_owned));
        words.map(|mut words| Mark { program: words.next().unwrap(), arguments: words.collect() }).collect()
    }

    /// The arguments of each run of a program, joined by spaces.
    pub fn marks(&self, program: &str) -> Vec<String> {
        let marks = self.all_marks().into_iter().filter(|mark| mark.program == program);
        marks.map(|mark| mark.arguments.join(" ")).collect()
    }

    /// The rows of a query on the ledger, read by the `sqlite3` program: a reader that shares no code with `opsctl`.
    ///
    /// A ledger that was never made has no rows.
    #[track_caller]
    pub fn rows(&self, query: &str) -> Vec<Value> {
        if !self.ledger().exists() {
            return Vec::new();
        }
        let rows = self.sqlite3(&["-json", "-readonly"], query);
        // For no row at all it prints nothing, not an empty list.
        if rows.is_empty() { Vec::new() } else { serde_json::from_str(&rows).unwrap() }
    }

    /// Changes the ledger without `opsctl`; creates it if it does not exist.
    #[track_caller]
    pub fn sql(&self, statements: &str) {
        self.sqlite3(&["-bail"], statements);
    }

    #[track_caller]
    fn sqlite3(&self, options: &[&str], statements: &str) -> String {
        let database = self.ledger();
        let mut sqlite3 = Command::new("sqlite3");
        // Another process may hold the lock: opsctl waits, and so does this.
        sqlite3
            .args(["-cmd", ".timeout 10000"])
            .args(options)
            .arg(&database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut sqlite3 =
            sqlite3.spawn().unwrap_or_else(|error| panic!("`sqlite3`: {error}; run tests/setup"));
        sqlite3.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
        let output = sqlite3.wait_with_output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{statements}` on {}: {complaint}", database.display());
        String::from_utf8(output.stdout).unwrap()
    }
}
