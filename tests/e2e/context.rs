//! What a session is told before its first step.

use crate::guard::guarded;
use crate::support::{Session, bash};

#[test]
fn the_context_is_in_the_first_thing_the_model_sees() {
    let finished = guarded().run();
    let shown = finished.shown_at_start();
    let lines = [
        "=== Claude Ops Session Context (auto-injected) ===",
        "Cooldown State:",
        "Recent Events (last 10):",
        "Host Connectivity:",
        "ie01 (192.168.100.210): ",
        "pie01 (192.168.100.220): ",
        "=== End Session Context ===",
    ];
    let places: Vec<usize> = lines.iter().map(|line| shown.find(line).expect(line)).collect();
    assert!(places.is_sorted(), "{shown}");
    assert!(shown.contains("No data available"), "nothing has happened yet: {shown}");
}

#[test]
fn a_session_is_told_what_earlier_ones_have_used() {
    let first = guarded().step(bash("docker restart jellyfin")).run();
    let second = Session::continuing(first.into_workspace()).run();
    let shown = second.shown_at_start();
    assert!(shown.contains("jellyfin: 1/2 restarts (4h), 0/1 redeployments (24h)"), "{shown}");
    assert!(shown.contains("| warning | jellyfin | Container restarted: docker restart jellyfin"), "{shown}");
}
