//! A ledger of years: what hooks and verbs read of it, and what `opsctl prune` does beside them.
//!
//! The program of a test panics if a statement reads too many rows of a file.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::random::Random;
use crate::sandbox::{Run, Sandbox};

#[path = "../support/years.rs"]
mod ledger_of_years;
use ledger_of_years::{use_all, years};

#[test]
fn no_verb_and_no_hook_reads_a_table_that_grows_as_a_whole() {
    let sandbox = years(100_000);
    let check = |what: &str, Run { code, stderr, .. }: Run| {
        assert!(code == Some(0) && !stderr.contains("steps"), "{what}: {code:?} {stderr}");
    };
    use_all(&sandbox, check);
}

fn prune(sandbox: &Sandbox) -> Child {
    let mut command = sandbox.command(&["prune", "--keep", "20d"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// The counters of the metrics.
fn counters(sandbox: &Sandbox) -> Vec<String> {
    let metrics = sandbox.opsctl(&["metrics", "--no-hosts"], b"").stdout;
    let is_counter = |line: &&str| line.contains("_total{");
    metrics.lines().filter(is_counter).map(str::to_owned).collect()
}

const RECENT: &str = "SELECT (SELECT count(*) FROM hook_decisions WHERE at > datetime('now', '-19 days') AND verdict <> 'operator'),
    (SELECT count(*) FROM hook_sessions WHERE last_seen_at > datetime('now', '-19 days')),
    (SELECT count(*) FROM cooldown_actions JOIN recorded_actions ON action_id = id WHERE timestamp > datetime('now', '-19 days'))";

#[test]
fn a_prune_that_is_killed_a_hundred_times_loses_nothing() {
    let sandbox = years(20_000);
    let (before, recent) = (counters(&sandbox), sandbox.sql(RECENT));
    assert!(before.len() > 10, "{before:?}");
    let mut random = Random::new(11);
    for _ in 0..100 {
        let mut child = prune(&sandbox);
        std::thread::sleep(Duration::from_millis(u64::try_from(random.below(60)).unwrap()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(prune(&sandbox).wait().unwrap().success());
    assert_eq!((counters(&sandbox), sandbox.sql(RECENT)), (before, recent));
    let old = "SELECT count(*) FROM hook_decisions WHERE at < datetime('now', '-25 days')";
    assert_eq!(sandbox.sql(old), "0");
    let orphans = "SELECT count(*) FROM recorded_events WHERE event_id NOT IN (SELECT id FROM events)";
    assert_eq!(sandbox.sql(orphans), "0");
    assert_eq!(sandbox.sql("PRAGMA integrity_check"), "ok");
}

#[test]
fn beside_a_prune_each_service_is_restarted_twice_and_the_file_becomes_smaller() {
    let sandbox = years(20_000);
    let size = || std::fs::metadata(sandbox.path("claudeops.db")).unwrap().len();
    let before = size();
    let mut pruning = prune(&sandbox);
    let (mut allowed, mut longest) = (vec![0; 50], Duration::ZERO);
    for n in 0..200 {
        let began = Instant::now();
        let run = sandbox.before(&format!("t{n}"), &format!("docker restart fresh{}", n % 50));
        longest = longest.max(began.elapsed());
        allowed[n % 50] += usize::from(run.code == Some(0));
    }
    eprintln!("the longest hook beside a prune took {longest:?}");
    assert!(pruning.wait().unwrap().success());
    assert_eq!(allowed, vec![2; 50]);
    assert_eq!(sandbox.sql("PRAGMA integrity_check"), "ok");
    assert!(size() < before / 2, "{} bytes of {before}", size());
}
