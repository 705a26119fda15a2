//! `opsctl hosts` against `fping` on the same thousand hosts on 127.0.0.0/8, in turns, in a network of their own.
//! Fails when a host is missed, or when `opsctl` is not the faster one.
//!
//! `fping` sends a packet every 10 ms as it comes, and every millisecond at the least for an ordinary user. With
//! `-i 0` root makes it send all at once, which is not suitable for a real network: this time is only shown.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark may stop where it cannot go on"
)]

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

#[path = "../tests/support/sandbox.rs"]
mod sandbox;

const HOSTS: usize = 1000;
/// Set in the process that is in a network of its own.
const INSIDE: &str = "OPSCTL_BENCH_IN_OWN_NETWORK";

/// How `fping` is called, how often, and whether it has to be slower.
const FPING: [(&[&str], usize, bool); 3] =
    [(&[], 3, true), (&["-i", "1"], 10, true), (&["-i", "0"], 30, false)];

fn main() -> ExitCode {
    if std::env::var_os(INSIDE).is_none() {
        let error = Command::new("unshare")
            .args(["--user", "--map-root-user", "--net", "sh", "-ec"])
            .arg("ip link set lo up; echo 0 0 > /proc/sys/net/ipv4/ping_group_range; exec \"$0\"")
            .arg(std::env::current_exe().unwrap())
            .env(INSIDE, "yes")
            .exec();
        panic!("`unshare` did not start ({error}); run tests/setup");
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut list, mut inventory) = (String::new(), "hosts:\n".to_owned());
    for n in 0..HOSTS {
        let address = format!("127.0.{}.{}", n / 250 + 1, n % 250 + 1);
        writeln!(list, "{address}").unwrap();
        writeln!(inventory, "  h{n}: {{address: {address}}}").unwrap();
    }
    std::fs::write(folder.path().join("list"), list).unwrap();
    std::fs::write(folder.path().join("hosts.yaml"), inventory).unwrap();
    let mut met = true;
    for (options, rounds, must_be_slower) in FPING {
        let (mut ours, mut theirs) = (vec![], vec![]);
        for _ in 0..rounds {
            ours.push(timed(folder.path(), &sandbox::program(), &["hosts"], " reachable "));
            let arguments = [options, &["-a", "-f", "list"]].concat();
            theirs.push(timed(folder.path(), "fping".as_ref(), &arguments, "127.0."));
        }
        let (ours, theirs) = (median(ours), median(theirs));
        let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
        let name = ["fping", &options.join(" ")].join(" ");
        println!(
            "{HOSTS} live hosts, none missed: opsctl hosts {ours:.2?}, {} {theirs:.2?}, ratio {ratio:.1}",
            name.trim()
        );
        met &= !must_be_slower || ratio > 1.0;
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The time of one whole run, which must find every host.
fn timed(folder: &Path, program: &OsStr, arguments: &[&str], alive: &str) -> Duration {
    let started = Instant::now();
    let output =
        Command::new(program).args(arguments).current_dir(folder).env("CLAUDE_PROJECT_DIR", folder).output();
    let output = output.unwrap_or_else(|error| panic!("`{}`: {error}; run tests/setup", program.display()));
    let elapsed = started.elapsed();
    let reported = String::from_utf8(output.stdout).unwrap();
    let found = reported.lines().filter(|line| line.contains(alive)).count();
    assert_eq!(
        found,
        HOSTS,
        "{} {arguments:?} missed some: {}",
        program.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    elapsed
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
