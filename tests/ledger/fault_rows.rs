//! The rows of `fault_rows.yaml`: the answer of the hooks to each fault, in time, and the count right after recovery.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// The number of rows that run at once.
const AT_ONCE: usize = 6;

const SCRIPT: &str = include_str!("fault_rows.sh");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    #[serde(rename = "fault")]
    name: String,
    #[serde(default)]
    fresh: bool,
    #[serde(default)]
    disk: String,
    #[serde(default, rename = "do")]
    cause: String,
    #[serde(default)]
    undo: String,
    #[serde(default)]
    with: String,
    during: During,
    closed: Option<During>,
    #[serde(default)]
    says: String,
    #[serde(default = "four")]
    seconds: u64,
    #[serde(default = "two")]
    count: u64,
    events: Option<usize>,
    #[serde(default)]
    server: bool,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
enum During {
    Works,
    Kept,
    Forgotten,
    Lost,
    Denied,
    Killed,
}

const fn two() -> u64 {
    2
}

const fn four() -> u64 {
    4
}

/// A step of the script: its exit code, how long it took in milliseconds, and its output.
struct Step {
    code: i32,
    took: u64,
    stdout: String,
    stderr: String,
}

/// The steps of a fault, and their folder.
struct Scene {
    sandbox: Sandbox,
    printed: String,
}

impl Scene {
    fn of(fault: &Fault, on_failure: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
        let input = json!({
            "session_id": "s1", "cwd": "/app", "source": "startup", "tool_name": "Bash", "tool_use_id": "ID",
            "tool_input": {"command": "docker restart SERVICE"},
        });
        sandbox.write("call.json", &input.to_string());
        let opsctl = sandbox.command(&[]);
        let Fault { cause, undo, with, disk, .. } = fault;
        let mut command = Command::new("unshare");
        command
            .args([
                "--user",
                "--map-root-user",
                "--mount",
                "bash",
                "-c",
                SCRIPT,
                "bash",
                cause,
                undo,
                with,
                disk,
            ])
            .arg(opsctl.get_program())
            .current_dir(sandbox.path(""))
            .env_clear()
            .envs(opsctl.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("CLAUDEOPS_STATE_DIR", sandbox.path("state"))
            .env("fresh", if fault.fresh { "yes" } else { "" });
        let output = command.stdin(Stdio::null()).output().expect("a tool is missing: run tests/setup");
        let printed = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: the script failed: {stderr}\n{printed}", fault.name);
        Self { sandbox, printed }
    }

    /// A step; `None` if it was left out.
    fn step(&self, name: &str) -> Option<Step> {
        let line = self.printed.lines().find(|line| line.split(' ').next() == Some(name))?;
        let [_, code, took] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let text = |end: &str| {
            let file = self.sandbox.path(&format!("{name}.{end}"));
            String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned()
        };
        let (code, took) = (code.parse().unwrap(), took.parse().unwrap());
        Some(Step { code, took, stdout: text("out"), stderr: text("err") })
    }

    fn json(&self, name: &str) -> Value {
        let step = self.step(name).unwrap();
        serde_json::from_str(&step.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", step.stdout, step.stderr))
    }
}

/// What is wrong with the behaviour at a fault.
fn wrong(fault: &Fault, on_failure: &str) -> Vec<String> {
    let scene = Scene::of(fault, on_failure);
    let mut wrong = Vec::new();
    let mut check = |holds: bool, what: String| {
        if !holds {
            wrong.push(format!("{}, {on_failure}: {what}", fault.name));
        }
    };
    let is_closed = on_failure == "closed";
    let during = match fault.during {
        During::Works | During::Killed if is_closed => fault.closed.unwrap_or(fault.during),
        _ if is_closed => During::Denied,
        during => during,
    };
    let stays_denied = is_closed && fault.closed == Some(During::Denied);
    // The exit codes of the second, third and fourth restart.
    let expected: [&[i32]; 3] = match during {
        During::Works | During::Kept => [&[0], &[2], &[2]],
        During::Forgotten => [&[0], &[0], &[2]],
        During::Lost => [&[0], &[0], &[0]],
        During::Denied if stays_denied => [&[2], &[2], &[2]],
        During::Denied => [&[2], &[2], &[0]],
        During::Killed => [&[126, 127, 137, 139], &[126, 127, 137, 139], &[0]],
    };
    for (name, codes) in ["before2", "before3", "before4"].into_iter().zip(expected) {
        let step = scene.step(name).unwrap();
        check(
            codes.contains(&step.code),
            format!("{name} ends with {}, not {codes:?}: {}", step.code, step.stderr),
        );
    }
    for name in ["before2", "after2", "before3", "before4", "after5"] {
        let took = scene.step(name).map_or(0, |step| step.took);
        check(took <= fault.seconds * 1000, format!("{name} took {took} ms"));
    }
    let second = scene.step("before2").unwrap();
    let is_mute = fault.with.contains("2>") || during == During::Killed;
    let lines = second.stderr.lines().count();
    check(is_mute || second.stderr.contains(&fault.says), format!("says {}", second.stderr));
    check(lines <= 1, format!("{lines} lines: {}", second.stderr));
    let said = match during {
        During::Kept | During::Forgotten => "runs and is recorded later, because policy.on_failure is open",
        During::Lost => "runs without being counted, because policy.on_failure is open",
        During::Denied => "policy.on_failure is closed",
        During::Works | During::Killed => "",
    };
    check(is_mute || second.stderr.contains(said), format!("says {}", second.stderr));
    // Where a hook cannot use the ledger, neither of them says that all is well.
    if fault.with.is_empty() && matches!(fault.during, During::Kept | During::Forgotten | During::Lost) {
        let (doctor, status) = (scene.step("doctor").unwrap(), scene.step("status").unwrap());
        check(
            doctor.code == 1 && doctor.stdout.starts_with("FAILED   ledger: "),
            format!("doctor: {}", doctor.stdout),
        );
        let reports = status.stdout.matches("cannot be used: ").count()
            + status.stderr.matches("cannot be used: ").count();
        check(status.code == 1 && reports == 1, format!("status: {}{}", status.stdout, status.stderr));
        let policy = format!("policy.on_failure is {on_failure}: ");
        check(
            status.stdout.contains(&policy) && status.stdout.contains("\nbudgets:\n"),
            format!("status: {}", status.stdout),
        );
    }
    let events = scene.json("events");
    let critical =
        events["events"].as_array().unwrap().iter().filter(|event| event["level"] == "critical").count();
    if let Some(expected) = fault.events.filter(|_| !is_closed) {
        check(critical == expected, format!("{critical} critical events: {events}"));
    }
    check(during != During::Kept || critical > 0, "no critical event".to_owned());
    if !stays_denied {
        let used = &scene.json("count")["services"][0]["restart"]["used"];
        let denied = if fault.fresh { 1 } else { 2 };
        let expected = if is_closed && during == During::Denied { denied } else { fault.count };
        check(*used == expected, format!("{used} restarts are in the ledger, not {expected}"));
    }
    wrong
}

#[test]
fn each_fault_gets_its_answer_in_time_and_loses_no_count() {
    let faults: Vec<Fault> = serde_saphyr::from_str(include_str!("fault_rows.yaml")).unwrap();
    let is_server = Sandbox::new().variable("CLAUDEOPS_DB_URL").is_some();
    // A fault of a file is none of a server.
    let faults: Vec<Fault> = faults.into_iter().filter(|fault| fault.server || !is_server).collect();
    assert!(faults.len() >= if is_server { 15 } else { 60 }, "{} faults", faults.len());
    let rows: Vec<_> = faults.iter().flat_map(|fault| [(fault, "open"), (fault, "closed")]).collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // Some of them wait for locks.
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((fault, on_failure)) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let wrong = wrong(fault, on_failure);
                    found.lock().unwrap().extend(wrong);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
