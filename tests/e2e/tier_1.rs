//! Tier 1 changes nothing, and nothing hinders it from looking: a whole round in the real client, with the rendered
//! settings and arguments of the tier, and a stub for every program.

use crate::guard::guarded;

const CHANGES: &str = include_str!("tier_1_changes.txt");
const LOOKS: &str = include_str!("tier_1_looks.txt");

/// Every program of the two files that leaves a mark when it runs. The others are filters and builtins of the shell.
const PROGRAMS: &[&str] = &[
    "ansible-playbook",
    "ansible-vault",
    "apt-get",
    "atq",
    "atrm",
    "augtool",
    "chown",
    "chpasswd",
    "curl",
    "df",
    "dig",
    "docker",
    "fail2ban-client",
    "find",
    "free",
    "gh",
    "git",
    "ha",
    "helmfile",
    "incus",
    "influx",
    "iptables",
    "journalctl",
    "jq",
    "kubectl",
    "lego",
    "logger",
    "lvchange",
    "lvconvert",
    "mariadb",
    "netplan",
    "openssl",
    "ping",
    "pkill",
    "pvesm",
    "redis-cli",
    "resolvectl",
    "restic",
    "sed",
    "service",
    "socat",
    "ssh",
    "systemctl",
    "tee",
    "terraform",
    "uptime",
    "virsh",
    "wg",
    "wg-quick",
    "zfs",
    "zpool",
];

/// What the session ran. The client itself asks `git` about its own settings files.
fn ran(finished: &crate::support::Finished) -> Vec<String> {
    let marks =
        finished.all_marks().into_iter().map(|mark| format!("{} {}", mark.program, mark.arguments.join(" ")));
    marks.filter(|mark| !mark.contains(".claude/settings.local.json")).collect()
}

fn session() -> crate::support::Session {
    let session = PROGRAMS.iter().fold(guarded(), |session, program| session.stub(program, "exit 0"));
    session.run_at_tier(1)
}

#[test]
fn tier_1_runs_no_change() {
    let finished = session().commands(CHANGES.lines()).run();
    for (nth, command) in CHANGES.lines().enumerate() {
        let result = finished.tool_result(nth);
        assert!(result.is_error, "{command} was allowed: {}", result.shown);
    }
    assert_eq!(ran(&finished), [""; 0]);
}

#[test]
fn a_dry_run_at_tier_3_runs_no_change() {
    let session = PROGRAMS.iter().fold(guarded(), |session, program| session.stub(program, "exit 0"));
    let session = session.env("CLAUDEOPS_DRY_RUN", "true").run_at_tier(3);
    let finished = session.commands(CHANGES.lines()).run();
    assert_eq!(ran(&finished), [""; 0]);
}

#[test]
fn tier_1_can_look_at_everything() {
    let finished = session().commands(LOOKS.lines()).run();
    for nth in 0..LOOKS.lines().count() {
        finished.tool_result(nth).assert_ran();
    }
    // One of them is the real `ps`.
    assert!(ran(&finished).len() >= LOOKS.lines().count() - 1, "{:?}", ran(&finished));
}
