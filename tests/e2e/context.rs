//! The context of a session before its first step.

use crate::guard::guarded;
use crate::support::{Program, Session, Workspace, bash};
use std::fmt::Write;
use std::time::Duration;

#[test]
fn the_context_is_in_the_first_request() {
    let finished = guarded().run();
    let shown = finished.shown_at_start();
    let lines = [
        "=== Claude Ops Session Context (auto-injected) ===",
        "Cooldown State:",
        "Recent Events (last 10):",
        "Host Connectivity:",
        "ie01 (127.0.0.11): reachable",
        "pie01 (127.0.0.12): reachable",
        "=== End Session Context ===",
    ];
    let places: Vec<usize> = lines.iter().map(|line| shown.find(line).expect(line)).collect();
    assert!(places.is_sorted(), "{shown}");
    assert!(shown.contains("No data available"), "nothing has happened yet: {shown}");
}

#[test]
fn a_session_starts_with_the_usage_of_earlier_ones() {
    let first = guarded().step(bash("docker restart jellyfin")).run();
    let second = Session::continuing(first.into_workspace()).run();
    let shown = second.shown_at_start();
    assert!(shown.contains("jellyfin: 1/2 restarts (4h), 0/1 redeployments (24h)"), "{shown}");
    assert!(shown.contains("| warning | jellyfin | Container restarted: docker restart jellyfin"), "{shown}");
}

#[test]
fn listed_and_declared_files_are_in_the_first_request() {
    let inventory = format!("{}\ncontext: {{files: ['docs/**/*.md']}}\n", include_str!("hosts.yaml"));
    let finished = Session::new()
        .file("project/docs/net/vlans.md", &"VLAN 5 is the family's.\n".repeat(1_000))
        .file("project/docs/rules.md", "Leave the family's devices alone.\n")
        .file("project/notes/night.md", "All operators are asleep.\n")
        .file("project/.claude/roles/night.md", "---\nauto_include: [notes/*.md]\n---\nYou watch at night.\n")
        .hosts_yaml(&inventory)
        .env("CLAUDE_SESSION_ROLE", "night")
        .run();
    let shown = finished.shown_at_start();
    let lines = [
        "=== End Session Context ===",
        "--- docs/net/vlans.md (the first ",
        "--- cut here; the rest: Read ",
        "--- docs/rules.md ---\nLeave the family's devices alone.\n",
        "--- .claude/roles/night.md ---\nYou watch at night.\n",
        "--- notes/night.md ---\nAll operators are asleep.\n",
        "=== End Context Files ===",
    ];
    let places: Vec<usize> = lines.iter().map(|line| shown.find(line).expect(line)).collect();
    assert!(places.is_sorted(), "{shown}");
}

#[test]
fn hundreds_of_silent_hosts_delay_a_session_by_at_most_two_seconds() {
    let workspace = Workspace::new();
    let mut inventory = "hosts:\n".to_owned();
    for host in 1..=200 {
        writeln!(inventory, "  h{host}: {{address: 192.168.100.{host}}}").unwrap();
    }
    workspace.render(&inventory);
    let ran = Program::opsctl(&workspace).args(["hook", "session-start"]).stdin("{}").run();
    assert_eq!(ran.exit_code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("h1 (192.168.100.1): unreachable"), "{}", ran.stdout);
    // With some allowance for a busy machine: one after the other would take minutes.
    assert!(ran.elapsed < Duration::from_secs(5), "{:?}", ran.elapsed);
    assert!(ran.stdout.chars().count() < 10_000, "the client would cut it off");
}
