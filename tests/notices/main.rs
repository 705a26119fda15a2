//! Notifications: the real `apprise`, targets that answer, refuse and stay silent, and the outbox as
//! sqlite3 shows it.
#![cfg(test)]

mod api;
mod budget;
mod by_hand;
mod config;
mod delivery;
mod digest;
mod full_disk;
mod guard;
#[path = "../support/installed.rs"]
#[allow(dead_code, reason = "the client is not needed here")]
mod installed;
#[path = "../support/sandbox.rs"]
mod sandbox;
mod target;

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use sandbox::Sandbox;
use target::Target;

/// A sandbox in which the real `apprise` sends to this target.
fn listening(target: &Target) -> Sandbox {
    with_apprise(Sandbox::new()).with("CLAUDEOPS_APPRISE_URLS", &target.url())
}

/// The real `apprise` is the first on PATH.
fn with_apprise(sandbox: Sandbox) -> Sandbox {
    let bin = sandbox.path("bin");
    std::fs::create_dir(&bin).unwrap();
    symlink(installed::apprise(), bin.join("apprise")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    sandbox.with("PATH", &path)
}

/// Waits for an action of another process, with a timeout that is long enough for a busy machine.
#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_mins(1), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until no notice is pending or being sent, and returns the states of all notices.
#[track_caller]
fn settled(sandbox: &Sandbox) -> String {
    let states =
        "SELECT coalesce(group_concat(state, ' '), '') FROM (SELECT state FROM notice_states ORDER BY id)";
    let mut now = String::new();
    wait_until("every notice is settled", || {
        now = sandbox.sql(states);
        !now.contains("pending") && !now.contains("sending")
    });
    now
}

/// The titles that arrived, sorted, each once: what `apprise` does not send in its time, as on a busy machine, is sent again.
fn arrived(target: &Target, sandbox: &Sandbox) -> Vec<String> {
    let mut titles = target.titles();
    let attempts = sandbox.sql("SELECT sum(attempts) FROM notice_states");
    assert!(titles.len() <= attempts.parse().unwrap(), "{titles:?} in {attempts} attempts");
    titles.sort();
    titles.dedup();
    titles
}

/// Whether a delivering process still runs for this sandbox.
fn delivering(sandbox: &Sandbox) -> bool {
    let mine = format!("CLAUDEOPS_STATE_DIR={}", sandbox.path("").display());
    let mine = mine.trim_end_matches('/').as_bytes().to_vec();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let environments = processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
    environments.into_iter().any(|it| it.split(|byte| *byte == 0).any(|variable| variable == mine))
}
