//! A restart that is allowed, in-process and through the socket of the guard: whole processes, in turns. Fails when the
//! socket is slower by more than a quarter.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark may stop where it cannot go on"
)]

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use guard_process::Guarded;
use sandbox::{Sandbox, call};

#[path = "../tests/support/guard_process.rs"]
mod guard_process;
#[path = "../tests/support/sandbox.rs"]
mod sandbox;

const ROUNDS: usize = 100;

/// The hook on the side of this sandbox, from its start to its end.
fn hook(sandbox: &Sandbox, event: &str, id: &str, command: &str) -> Duration {
    sandbox.write("input.json", &call(id, command).to_string());
    let own = sandbox.command(&["hook", event]);
    let mut hook = Command::new(own.get_program());
    hook.args(own.get_args())
        .env_clear()
        .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(sandbox.path("."))
        .stdin(std::fs::File::open(sandbox.path("input.json")).unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let began = Instant::now();
    assert_eq!(hook.status().unwrap().code(), Some(0), "{event} {command}");
    began.elapsed()
}

fn main() -> ExitCode {
    let guarded = Guarded::new();
    let here = Sandbox::new();
    let medians = |event: &str, command: &dyn Fn(usize) -> String| {
        let mut times = [vec![], vec![]];
        for round in 0..ROUNDS {
            for (sandbox, times) in [&here, &guarded.agent].into_iter().zip(&mut times) {
                times.push(hook(sandbox, event, &format!("t{round}"), &command(round)));
            }
        }
        times.map(|mut times| {
            times.sort_unstable();
            times.get(ROUNDS / 2).copied().unwrap_or_default()
        })
    };
    let restart = |round| format!("docker restart s{round}");
    medians("pre-tool-use", &|round| format!("docker restart warm{round}"));
    let [reads, before, after] = [
        medians("pre-tool-use", &|_| "ls -la".to_owned()),
        medians("pre-tool-use", &restart),
        medians("post-tool-use", &restart),
    ];
    for (what, [alone, through]) in
        [("`ls -la`", reads), ("a restart, allowed", before), ("a restart, after it", after)]
    {
        println!("{what}: in-process {alone:.2?}, through the socket {through:.2?}");
    }
    let [alone, through] = before;
    // The machine may do something else in between.
    if through <= alone + alone / 4 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
