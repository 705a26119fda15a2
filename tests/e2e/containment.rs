//! The containment of the test sessions, which run commands that would do harm on a real machine.

use crate::support::{Session, bash};
use std::fs;

#[test]
fn a_session_has_no_network_but_loopback() {
    let finished = Session::new().step(bash("cat /proc/net/dev /proc/net/route")).run();
    let shown = &finished.tool_result(0).shown;
    let interfaces: Vec<&str> =
        shown.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    assert_eq!(interfaces, ["lo"]);
}

#[test]
fn a_session_sees_nothing_of_the_environment_outside() {
    let finished = Session::new().step(bash("env; command -v docker ssh sudo")).run();
    let shown = &finished.tool_result(0).shown;
    assert!(!shown.contains("CARGO_"), "cargo gives its tests many such variables: {shown}");
    let stubs = finished.path("bin").display().to_string();
    assert_eq!(shown.lines().filter(|line| line.starts_with(&stubs)).count(), 3, "{shown}");
}

#[test]
fn a_session_leaves_no_process_behind() {
    let stays = "setsid sleep 86399 >/dev/null 2>&1 & echo started";
    let finished = Session::new().step(bash(stays)).run();
    finished.tool_result(0).assert_ran();
    assert!(finished.tool_result(0).shown.contains("started"));
    let running = fs::read_dir("/proc").unwrap().flatten();
    let running = running.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    assert_eq!(running.filter(|words| words == b"sleep\x0086399\0").count(), 0);
}

#[test]
fn notifications_arrive_through_the_real_apprise() {
    let finished = Session::new()
        .operators_listen()
        .step(bash("apprise -t 'jellyfin is down' -b 'the disk is full' \"$CLAUDEOPS_APPRISE_URLS\""))
        .run();
    finished.tool_result(0).assert_ran();
    let output = finished.notifications();
    assert_eq!(output.len(), 1);
    assert_eq!(output[0]["title"], "jellyfin is down");
    assert_eq!(output[0]["message"], "the disk is full");
}
