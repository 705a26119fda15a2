//! `opsctl launch`: the first process of a container, as a user without capabilities.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};

const KEY: &str = "key-0123456789abcdef";
const TARGET: &str = "json://bob:hunter2hunter2@ntfy.example/x";
const NOBODY: u32 = 65534;

/// Starts `sh` with this script through `opsctl launch`, with opsctl in PATH and the keys in its environment.
fn launch(script: &str) -> Output {
    run(&["launch", "--", "sh", "-c", script])
}

fn run(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path();
    // A process of its own writes it: what this one writes cannot be executed while another test starts a process.
    let copied =
        Command::new("cp").arg(env!("CARGO_BIN_EXE_opsctl")).arg(own.join("opsctl")).status().unwrap();
    assert!(copied.success());
    std::fs::create_dir(own.join("state")).unwrap();
    for path in ["", "state"] {
        std::fs::set_permissions(own.join(path), std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new(own.join("opsctl"));
    command.args(arguments).current_dir(own).env_clear();
    command
        .env("PATH", format!("{}:/usr/bin:/bin", own.display()))
        .env("CLAUDEOPS_STATE_DIR", own.join("state"));
    command.env("ANTHROPIC_API_KEY", KEY).env("CLAUDEOPS_APPRISE_URLS", TARGET).env("HARMLESS", "yes");
    if rustix::process::getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().unwrap()
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), output.stderr.as_slice()].concat()).into_owned()
}

#[test]
fn the_keys_are_in_no_environment_that_a_process_of_the_same_user_can_read() {
    // Of this test's processes: another test may just start one, which has not withdrawn its keys yet.
    let output = launch(
        "cat $(grep -lzsxF CLAUDEOPS_STATE_DIR=$CLAUDEOPS_STATE_DIR /proc/[0-9]*/environ) 2>/dev/null | tr '\\0' '\\n'
         cat /proc/$PPID/environ; cat /proc/$PPID/mem",
    );
    let shown = shown(&output);
    assert!(shown.contains("HARMLESS=yes"), "{shown}");
    assert!(!shown.contains(KEY) && !shown.contains("hunter2"), "{shown}");
    assert_eq!(shown.matches("Permission denied").count(), 2, "{shown}");
}

#[test]
fn the_command_and_its_direct_children_get_the_keys() {
    let direct = shown(&launch(
        "opsctl doctor --only credentials; found=$(opsctl doctor --only credentials); echo \"$found\"",
    ));
    assert_eq!(direct.matches("ANTHROPIC_API_KEY").count(), 2, "{direct}");
    let itself = shown(&run(&["launch", "opsctl", "doctor", "--only", "credentials"]));
    assert!(itself.contains("ANTHROPIC_API_KEY") && !itself.contains("none are configured"), "{itself}");
}

#[test]
fn a_process_farther_below_gets_no_keys() {
    let below = "opsctl doctor --only credentials; true";
    for script in [
        format!("sh -c '{below}'; true"),
        format!("(setsid sh -c 'sleep 0.2; {below}' &) ; sleep 1"),
        format!("setsid opsctl launch sh -c '{below}'; true"),
    ] {
        let shown = shown(&launch(&script));
        assert!(shown.contains("none are configured"), "{script}: {shown}");
    }
}

#[test]
fn signals_reach_the_command_and_its_exit_code_is_returned() {
    let output = launch("trap 'echo ended; exit 7' TERM; kill -TERM $PPID; while :; do sleep 0.05; done");
    assert_eq!((shown(&output).as_str(), output.status.code()), ("ended\n", Some(7)));
    assert_eq!(launch("kill -KILL $$").status.code(), Some(137));
    assert_eq!(launch("exit 0").status.code(), Some(0));
}

#[test]
fn a_missing_command_is_reported_in_one_line() {
    let output = run(&["launch", "no-such-program"]);
    let shown = shown(&output);
    assert!(shown.starts_with("opsctl: ") && shown.contains("no-such-program"), "{shown}");
    assert_eq!((shown.lines().count(), output.status.code()), (1, Some(1)));
}

#[test]
fn a_second_container_does_not_start_with_the_same_state_folder() {
    let folder = tempfile::tempdir().unwrap();
    let launch = |agent: &str, script: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opsctl"));
        command.args(["launch", "--alone", "sh", "-c", script]).env_clear().env("PATH", "/usr/bin:/bin");
        command.env("CLAUDEOPS_STATE_DIR", folder.path()).env("CLAUDEOPS_AGENT", agent);
        command
    };
    let begun = folder.path().join("begun");
    let mut first = launch("attic", &format!("echo >{}; sleep 60", begun.display())).spawn().unwrap();
    while !begun.exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let second = launch("cellar", "echo it runs").output().unwrap();
    let said = shown(&second);
    assert_eq!(second.status.code(), Some(1), "{said}");
    for part in ["of container `", "this state folder is in use by agent `attic`", "; stop it, or "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("it runs"), "{said}");
    // A process that it has left runs on, and holds nothing.
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(shown(&launch("cellar", "echo it runs").output().unwrap()), "it runs\n");
}
