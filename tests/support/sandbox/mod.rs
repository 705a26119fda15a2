//! A sandbox without a network and without the machine's files, in which real bash runs cases one after the
//! other and stand-ins record every program that would have acted.
//!
//! `enter.sh` says what the world is made of. Nothing of it needs root: a user who may open a user namespace
//! is enough.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// One text for bash.
#[derive(Debug, Clone)]
pub struct Case {
    pub text: String,
    /// The working directory; made when it does not exist.
    pub cwd: String,
    /// Files that are there before it runs, by absolute path; all of them can be run.
    pub files: BTreeMap<String, String>,
    /// The exit status of every lookup (`curl`, `ping`, `jq` …), so that both branches can be seen.
    pub lookups_exit: u8,
}

/// A call of a stand-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The host under whose name it ran; `None` is the one where the case began.
    pub host: Option<String>,
    pub cwd: String,
    pub docker_host: String,
    pub compose_project: String,
    pub program: String,
    pub args: Vec<String>,
}

/// What one case did.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub ran: Vec<Ran>,
    /// The first words that bash or a program wrote to standard error.
    pub complaint: String,
}

/// Runs the cases, in two worlds at a time; the outcomes are in the order of the cases.
///
/// `seconds` is the time that one case may take. It is meant for loops without an end.
pub fn run(cases: &[Case], seconds: u32) -> Vec<Outcome> {
    let half = cases.len().div_ceil(2);
    let (first, second) = cases.split_at(half);
    thread::scope(|scope| {
        let other = scope.spawn(|| run_in_one_world(second, seconds));
        let mut outcomes = run_in_one_world(first, seconds);
        outcomes.extend(other.join().expect("the second world ends well"));
        outcomes
    })
}

fn run_in_one_world(cases: &[Case], seconds: u32) -> Vec<Outcome> {
    if cases.is_empty() {
        return Vec::new();
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/sandbox");
    let scratch = tempfile::tempdir().expect("a folder to mount the world on");
    let mut world = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork"])
        .args(["--kill-child", "--", "bash"])
        .arg(folder.join("enter.sh"))
        .args([folder.as_path(), scratch.path()])
        .arg(seconds.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program `unshare` of util-linux");

    let mut input = Vec::new();
    for case in cases {
        for field in [case.cwd.as_bytes(), case.lookups_exit.to_string().as_bytes(), case.text.as_bytes()] {
            input.extend_from_slice(field);
            input.push(0);
        }
        let count = case.files.len().to_string();
        let files = case.files.iter().flat_map(|(path, text)| [path.as_str(), text.as_str()]);
        for field in std::iter::once(count.as_str()).chain(files) {
            input.extend_from_slice(field.as_bytes());
            input.push(0);
        }
    }
    let mut to_world = world.stdin.take().expect("piped");
    let mut complaints = world.stderr.take().expect("piped");
    let (records, said) = thread::scope(|scope| {
        // A world that never began closes the pipe; what it said is reported below.
        scope.spawn(move || to_world.write_all(&input).is_ok());
        let said = scope.spawn(move || {
            let mut text = String::new();
            complaints.read_to_string(&mut text).map(|_| text).unwrap_or_default()
        });
        let mut records = Vec::new();
        world.stdout.take().expect("piped").read_to_end(&mut records).expect("readable records");
        (records, said.join().expect("standard error is read"))
    });
    let status = world.wait().expect("the world ends");
    let outcomes = read_records(&records);
    assert!(
        status.success() && outcomes.len() == cases.len(),
        "the oracle needs user, mount, pid and net namespaces (`unshare --user --map-root-user --mount --pid \
         --net true` must work here); {} of {} cases ran, {status}: {}",
        outcomes.len(),
        cases.len(),
        said.trim()
    );
    outcomes
}

fn read_records(bytes: &[u8]) -> Vec<Outcome> {
    let mut fields = bytes.split(|&byte| byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    let mut outcomes = Vec::new();
    let mut ran = Vec::new();
    while let Some(tag) = fields.next() {
        let mut next = || fields.next().expect("a whole record");
        match tag.as_str() {
            "ran" => {
                let host = Some(next()).filter(|host| host != "here");
                let (cwd, docker_host, compose_project) = (next(), next(), next());
                let count: usize = next().parse().expect("a count of words");
                let program = next();
                let args = (0..count).map(|_| next()).collect();
                ran.push(Ran { host, cwd, docker_host, compose_project, program, args });
            }
            "end" => {
                outcomes.push(Outcome { ran: std::mem::take(&mut ran), complaint: next() });
            }
            _ => assert!(tag.is_empty(), "a record begins with `{tag}`"),
        }
    }
    outcomes
}
