//! The cost of a hook: whole processes, from start to end, compared with `/bin/true` and with a shell script
//! that does the same (`benches/shell/`). All take turns, so that what else the machine does falls on all alike.
//!
//! Prints the medians, their ratios, and whether the limits that this project sets itself are met.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark may stop where it cannot go on"
)]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

#[path = "../tests/support/sandbox.rs"]
mod sandbox;

const ROUNDS: usize = 300;
/// The case of a script on disk, of [`SCRIPT_SIZE`] bytes.
const SCRIPT: &str = "pre-tool-use, `bash check.sh` of 4 KiB";
const SCRIPT_SIZE: usize = 4096;
/// The most that the script may cost in addition to `ls -la`, in milliseconds.
const SCRIPT_LIMIT: f64 = 1.0;

/// A hook of the program, and what it is measured against.
struct Case {
    name: &'static str,
    event: &'static str,
    /// `{n}` becomes the number of the round.
    command: &'static str,
    exit_code: i32,
    /// The script that does the same.
    script: &'static str,
    /// The most that it may take, as a multiple of `/bin/true`.
    limit: f64,
}

const CASES: [Case; 6] = [
    Case {
        name: "pre-tool-use, `ls -la`",
        event: "pre-tool-use",
        command: "ls -la",
        exit_code: 0,
        script: "cooldown-check.sh",
        limit: 1.5,
    },
    Case {
        name: SCRIPT,
        event: "pre-tool-use",
        command: "bash check.sh",
        exit_code: 0,
        script: "cooldown-check.sh",
        limit: 2.5,
    },
    Case {
        name: "pre-tool-use, a restart, allowed",
        event: "pre-tool-use",
        command: "docker restart service-{n}",
        exit_code: 0,
        script: "cooldown-check.sh",
        limit: 6.0,
    },
    Case {
        name: "pre-tool-use, a restart, denied",
        event: "pre-tool-use",
        command: "docker restart exhausted",
        exit_code: 2,
        script: "cooldown-check.sh",
        limit: 4.0,
    },
    Case {
        name: "post-tool-use, `ls -la`",
        event: "post-tool-use",
        command: "ls -la",
        exit_code: 0,
        script: "event-emit.sh",
        limit: 1.5,
    },
    Case {
        name: "session-start, 50 services, 10,000 events",
        event: "session-start",
        command: "",
        exit_code: 0,
        script: "session-context.sh",
        limit: 10.0,
    },
];

const EVENTS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
    INSERT INTO events (session_id, level, service, message, created_at)
    SELECT NULL, 'info', 'service-' || (i % 50), 'Container restarted: docker restart service-' || (i % 50),
           strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || ((10000 - i) * 31) || ' seconds') FROM n;";

fn prepare(folder: &Path) {
    let services: String = (0..50).map(|n| format!("  service-{n}: {{}}\n")).collect();
    std::fs::write(folder.join("hosts.yaml"), format!("services:\n  exhausted: {{}}\n{services}")).unwrap();
    let ago =
        |minutes| (chrono::Utc::now() - chrono::TimeDelta::minutes(minutes)).format("%Y-%m-%dT%H:%M:%SZ");
    let mut script = String::from("#!/bin/bash\nset -eu\n");
    for number in 0.. {
        if script.len() >= SCRIPT_SIZE {
            break;
        }
        let name = format!("service-{number}");
        writeln!(script, "# {name} has to run, and to have been healthy at the last look.").unwrap();
        writeln!(script, "state=$(docker inspect -f '{{{{.State.Status}}}}' {name})").unwrap();
        writeln!(script, "if [ \"$state\" != running ]; then\n    echo \"{name} is $state\"\nfi\n").unwrap();
    }
    std::fs::write(folder.join("check.sh"), script).unwrap();
    let used = format!(
        r#"{{"services":{{"exhausted":{{"restart_timestamps":["{}","{}"],"redeployment_timestamps":[]}}}}}}"#,
        ago(90),
        ago(30),
    );
    std::fs::write(folder.join("cooldown.json"), used).unwrap();
    let rendered = opsctl(folder).arg("render").stdout(Stdio::null()).status().unwrap();
    assert!(rendered.success());
    // The first action creates the database.
    run(&CASES[2], opsctl(folder).args(["hook", "pre-tool-use"]), folder, ROUNDS);
    let filled = Command::new("sqlite3").arg(folder.join("claudeops.db")).arg(EVENTS).status();
    assert!(filled.expect("the tool sqlite3 is missing: run tests/setup").success());
}

fn in_folder(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("CLAUDEOPS_STATE_DIR", folder)
        .env("CLAUDE_PROJECT_DIR", folder)
        .env("CLAUDEOPS_HOSTS", folder.join("hosts.yaml"));
    command
}

fn opsctl(folder: &Path) -> Command {
    in_folder(sandbox::program(), folder)
}

/// Starts it with its input on a file, as a pipe would add the writer's time, and waits for its end.
fn run(case: &Case, command: &mut Command, folder: &Path, round: usize) -> Duration {
    let text = case.command.replace("{n}", &round.to_string());
    let tool = serde_json::json!({
        "session_id": "benchmark", "tool_use_id": format!("{}-{round}", case.name), "cwd": folder,
        "tool_name": "Bash", "tool_input": {"command": text},
    });
    let path = folder.join("input.json");
    let mut input = File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    input.write_all(tool.to_string().as_bytes()).unwrap();
    input.rewind().unwrap();
    command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let status = command.status().unwrap();
    let elapsed = started.elapsed();
    assert_eq!(status.code(), Some(case.exit_code), "{command:?} for `{text}`");
    elapsed
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn main() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [ours, theirs] = [folders[0].path(), folders[1].path()];
    prepare(ours);
    prepare(theirs);
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/shell");
    let nothing = Case { exit_code: 0, ..CASES[0] };

    // Before any script has run: what counts is the largest child so far.
    for case in &CASES {
        run(case, opsctl(ours).args(["hook", case.event]), ours, ROUNDS + 1);
    }
    let kib = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();

    println!("| hook | opsctl | × `/bin/true` | limit | shell script | opsctl is faster by |");
    println!("|---|--:|--:|--:|--:|--:|");
    let mut plain = 0.0;
    let mut script = 0.0;
    for case in &CASES {
        let mut times: [Vec<Duration>; 3] = [vec![], vec![], vec![]];
        for round in 0..ROUNDS {
            times[0].push(run(&nothing, &mut in_folder("/bin/true", ours), ours, round));
            times[1].push(run(case, opsctl(ours).args(["hook", case.event]), ours, round));
            times[2].push(run(case, &mut in_folder(scripts.join(case.script), theirs), theirs, round));
        }
        let [nothing, ours, shell] = times.each_mut().map(|times| median(times));
        match case.name {
            SCRIPT => script = milliseconds(ours),
            name if name == CASES[0].name => plain = milliseconds(ours),
            _ => {}
        }
        let ratio = ours.as_secs_f64() / nothing.as_secs_f64();
        println!(
            "| {} | {:.2} ms | {ratio:.2} | {:.1}{} | {:.1} ms | {:.1} × |",
            case.name,
            milliseconds(ours),
            case.limit,
            if ratio <= case.limit { "" } else { " (missed)" },
            milliseconds(shell),
            shell.as_secs_f64() / ours.as_secs_f64(),
        );
    }
    let more = script - plain;
    let verdict = if more <= SCRIPT_LIMIT { "" } else { ", missed" };
    println!("\nThe script costs {more:.2} ms more than `ls -la` (limit {SCRIPT_LIMIT} ms{verdict})");
    println!(
        "\nPeak memory of the largest hook: {:.1} MiB (limit 12 MiB)",
        f64::from(u32::try_from(kib).unwrap()) / 1024.0
    );
}
