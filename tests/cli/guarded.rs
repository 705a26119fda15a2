//! Hooks and verbs with a guard that is a process of its own (`CLAUDEOPS_GUARD`).

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::guard_process::Guarded;
use crate::sandbox::{Run, Sandbox, call, denied, passes, sqlite3};

fn files(sandbox: &Sandbox) -> Vec<String> {
    let entries = std::fs::read_dir(sandbox.path(".")).unwrap();
    let mut files: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    files
}

fn restart(guarded: &Guarded, id: &str, service: &str) -> Run {
    guarded.agent.before(id, &format!("docker restart {service}"))
}

#[test]
fn budgets_are_those_of_the_guard_and_the_agents_side_keeps_nothing() {
    let guarded = Guarded::new();
    for id in ["t1", "t2"] {
        passes(&restart(&guarded, id, "jellyfin"));
        passes(&guarded.agent.after(id, "docker restart jellyfin"));
    }
    let reason = denied(&restart(&guarded, "t3", "jellyfin"));
    assert!(reason.starts_with("Cooldown limit exceeded for jellyfin: 2/2 restarts"), "{reason}");
    assert_eq!(guarded.guard.sql("SELECT count(*), sum(success) FROM cooldown_actions"), "2|2");
    assert_eq!(files(&guarded.agent), [""; 0]);
}

/// The guard has a name of its own, which no row of an agent has.
#[test]
fn rows_have_the_name_that_the_agents_side_states() {
    let policy = Sandbox::new();
    policy.write("hosts.yaml", "policy: {exclusive: 30m}\n");
    let hosts = policy.path("hosts.yaml").display().to_string();
    let guard = Sandbox::new().with("CLAUDEOPS_HOSTS", &hosts).with("CLAUDEOPS_AGENT", "guard");
    let guarded = Guarded::with(guard, |agent| agent.with("CLAUDEOPS_AGENT", "n\u{1b}as"));
    passes(&restart(&guarded, "t1", "jellyfin"));
    passes(&guarded.agent.after("t1", "docker restart jellyfin"));
    let rows = "SELECT agent FROM recorded_actions UNION SELECT agent FROM hook_decisions
         UNION SELECT agent FROM recorded_events UNION SELECT agent FROM leases";
    assert_eq!(guarded.guard.sql(rows), "nas");
    guarded.guard.sql("UPDATE leases SET agent = 'pie'");
    assert!(denied(&restart(&guarded, "t2", "jellyfin")).contains("remediated by agent pie"));
    assert_eq!(guarded.agent.opsctl(&["audit", "--agent", "nas", "--json"], b"").code, Some(0));
}

#[test]
fn a_command_without_an_action_does_not_need_the_guard() {
    let mut guarded = Guarded::new();
    guarded.kill();
    let began = Instant::now();
    passes(&guarded.agent.before("t1", "ls -la"));
    passes(&guarded.agent.after("t1", "ls -la"));
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(files(&guarded.agent), [""; 0]);
}

/// The guard judges again: with variables and scripts of the agent's machine, and with its own policy.
#[test]
fn the_guard_reads_the_agents_machine_and_applies_its_own_policy() {
    let policy = Sandbox::new();
    policy.write("hosts.yaml", "policy: {restart: {limit: 1, window: 1h}}\n");
    let hosts = policy.path("hosts.yaml").display().to_string();
    let guarded = Guarded::with(Sandbox::new().with("CLAUDEOPS_HOSTS", &hosts), |agent| {
        let folder = agent.path(".").display().to_string();
        agent.with("SCRIPTS", &folder).with("BASH_FUNC_again%%", "() { docker restart radarr; }")
    });
    guarded.agent.write("again.sh", "#!/bin/sh\ndocker restart jellyfin\n");
    passes(&restart(&guarded, "t1", "sonarr"));
    let reason = denied(&restart(&guarded, "t2", "sonarr"));
    assert!(reason.contains("1/1 restarts in last 1h"), "{reason}");
    passes(&guarded.agent.before("t3", "again"));
    passes(&guarded.agent.before("t4", "sh $SCRIPTS/again.sh"));
    assert_eq!(
        guarded
            .guard
            .sql("SELECT group_concat(service, ' ') FROM (SELECT service FROM hook_actions ORDER BY id)"),
        "sonarr radarr jellyfin"
    );
}

#[test]
fn a_second_hook_with_the_same_call_needs_a_place_of_its_own() {
    let guarded = Guarded::new();
    passes(&restart(&guarded, "t1", "jellyfin"));
    passes(&restart(&guarded, "t1", "jellyfin"));
    denied(&restart(&guarded, "t1", "jellyfin"));
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM hook_actions"), "2");
}

#[test]
fn without_the_guard_on_failure_applies_and_reports_are_sent_once_later() {
    let mut guarded = Guarded::new();
    passes(&restart(&guarded, "t1", "jellyfin"));
    guarded.kill();
    let run = guarded.agent.before("t2", "docker restart sonarr");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("cannot be reached") && run.stderr.contains("on_failure is open"), "{run:?}");
    for (id, service) in [("t1", "jellyfin"), ("t2", "sonarr")] {
        let run = guarded.agent.after(id, &format!("docker restart {service}"));
        assert!(run.stderr.contains("is kept and sent later"), "{run:?}");
    }
    let kept = guarded.agent.read("guard-undelivered.jsonl");
    assert_eq!(kept.lines().count(), 2);
    guarded.start();
    for _ in 0..2 {
        let run = guarded.agent.opsctl(&["cooldown", "show", "sonarr"], b"");
        assert!(run.stdout.starts_with("sonarr: 1/2 restarts"), "{run:?}");
        assert_eq!(files(&guarded.agent), [""; 0]);
        // A process that was killed before it removed the file sends it again.
        guarded.agent.write("guard-undelivered.jsonl", &kept);
    }
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM cooldown_actions"), "2");
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM hook_actions WHERE state = 'done'"), "2");
    let failures = "SELECT count(*) FROM events WHERE level = 'critical' AND message LIKE 'Stated by the agent: Guard failed open%'";
    assert_eq!(guarded.guard.sql(failures), "1");
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM hook_decisions WHERE verdict = 'fail-open'"), "1");
}

#[test]
fn without_the_guard_a_closed_policy_denies_and_rules_still_apply() {
    let address = "unix:/nonexistent/guard.sock";
    let agent = Sandbox::new().with("CLAUDEOPS_GUARD", address);
    agent.write("hosts.yaml", "policy: {on_failure: closed}\n");
    let reason = denied(&agent.before("t1", "docker restart jellyfin"));
    assert!(reason.contains("the guard at /nonexistent/guard.sock cannot be reached"), "{reason}");
    assert!(reason.contains("on_failure is closed"), "{reason}");
    let invalid = Sandbox::new().with("CLAUDEOPS_GUARD", "tcp:127.0.0.1:1");
    let run = invalid.before("t1", "docker restart jellyfin");
    assert!(run.stderr.contains("CLAUDEOPS_GUARD is `tcp:127.0.0.1:1`, not unix:PATH"), "{run:?}");
    let reason = denied(&invalid.before("t2", "rm -rf /"));
    assert!(!reason.contains("guard"), "{reason}");
    assert!(!invalid.path("claudeops.db").exists());
}

#[test]
fn a_guard_that_restarts_within_a_second_is_reached() {
    let mut guarded = Guarded::new();
    guarded.kill();
    let child = std::thread::scope(|scope| {
        let asked = scope.spawn(|| restart(&guarded, "t1", "jellyfin"));
        std::thread::sleep(Duration::from_millis(300));
        let child = guarded.serve().spawn().unwrap();
        passes(&asked.join().unwrap());
        child
    });
    let mut child = child;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM hook_actions"), "1");
}

#[test]
fn verbs_run_in_the_guard_and_those_of_its_side_are_refused() {
    let guarded = Guarded::new();
    passes(&restart(&guarded, "t1", "jellyfin"));
    let there = guarded.guard.opsctl(&["cooldown", "show", "--json"], b"");
    let here = guarded.agent.opsctl(&["cooldown", "show", "--json"], b"");
    assert_eq!((here.code, &here.stdout), (Some(0), &there.stdout));
    let run = guarded
        .agent
        .opsctl(&["explain", "--json", "-"], b"docker restart jellyfin; docker restart jellyfin");
    let explained: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(explained["decision"], "deny", "{run:?}");
    let refused: [&[&str]; 4] = [
        &["cooldown", "reset", "jellyfin"],
        &["cooldown", "record", "jellyfin"],
        &["prune", "--keep", "1d"],
        &["events", "--follow"],
    ];
    for arguments in refused {
        let run = guarded.agent.opsctl(arguments, b"");
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("works on the guard's side only"), "{run:?}");
    }
    let status = guarded.agent.opsctl(&["sessions", "status", "looking"], b"");
    assert_eq!(status.code, Some(1), "no session: {status:?}");
    let run = guarded.agent.opsctl(&["doctor", "--only", "guard"], b"");
    assert!(run.stdout.contains("answered in"), "{run:?}");
    assert_eq!(files(&guarded.agent), [""; 0]);
}

#[test]
fn a_session_gets_no_higher_tier_than_the_guard_allows() {
    let guarded = Guarded::with(Sandbox::new().with("CLAUDEOPS_MAX_TIER", "1"), |agent| {
        agent.with("CLAUDEOPS_TIER", "3")
    });
    let reason = denied(&restart(&guarded, "t1", "jellyfin"));
    assert!(reason.starts_with("Tier 1 may not"), "{reason}");
}

/// The client applies the `env` of settings files to its hooks, which may unset the variable.
#[test]
fn a_hook_without_the_variable_uses_the_guard_of_the_process_that_started_the_client() {
    let guarded = Guarded::new();
    let opsctl = guarded.agent.command(&[]);
    let mut command = std::process::Command::new("unshare");
    command
        .args(["--fork", "--", "env", "CLAUDEOPS_GUARD="])
        .arg(opsctl.get_program())
        .args(["hook", "pre-tool-use"])
        .env_clear()
        .envs(opsctl.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let input = call("t1", "docker restart jellyfin").to_string();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM hook_actions"), "1");
    assert_eq!(files(&guarded.agent), [""; 0]);
}

#[test]
fn other_events_are_served_by_the_guard_or_have_no_effect() {
    let mut guarded = Guarded::new();
    passes(&restart(&guarded, "t1", "jellyfin"));
    let start = json!({"session_id": "sess-abc-123", "cwd": "/app", "source": "startup"});
    let run = guarded.agent.hook("session-start", &start);
    assert!(run.stdout.contains("jellyfin: 1/2 restarts"), "{run:?}");
    // Only the agent's side has the transcript.
    let refused = json!({"type": "tool_result", "is_error": true, "tool_use_id": "t1", "content": "Permission to use Bash with"});
    let line = json!({"type": "user", "message": {"content": [refused]}}).to_string();
    guarded.agent.write("transcript.jsonl", &line);
    let transcript = guarded.agent.path("transcript.jsonl");
    let end = json!({"session_id": "sess-abc-123", "cwd": "/app", "reason": "other", "transcript_path": transcript});
    passes(&restart(&guarded, "t2", "jellyfin"));
    passes(&guarded.agent.hook("session-end", &end));
    assert_eq!(guarded.guard.sql("SELECT state FROM hook_actions"), "released\nunknown");
    guarded.kill();
    let run = guarded.agent.hook("session-end", &end);
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("the hook has no effect"), "{run:?}");
}

#[test]
fn secrets_of_the_agents_environment_reach_neither_the_ledger_nor_the_answer() {
    let guarded =
        Guarded::with(Sandbox::new(), |agent| agent.with("REGISTRY_PASSWORD", "hunter2-hunter2-hunter2"));
    let run = guarded.agent.before("t1", "docker restart 'app hunter2-hunter2-hunter2'");
    assert!(!format!("{run:?}").contains("hunter2"), "{run:?}");
    let dump = guarded.guard.sql("SELECT actions, reason FROM hook_decisions");
    assert!(dump.contains("docker restart") && !dump.contains("hunter2"), "{dump}");
}

#[test]
fn a_stale_socket_is_replaced_and_that_of_a_running_guard_is_an_error() {
    let mut guarded = Guarded::new();
    let second =
        guarded.serve().stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    let stderr = String::from_utf8(second.stderr).unwrap();
    assert!(!second.status.success() && stderr.contains("belongs to a guard that is running"), "{stderr}");
    guarded.kill();
    assert!(guarded.socket().exists());
    guarded.start();
    passes(&restart(&guarded, "t1", "jellyfin"));
    assert_eq!(guarded.end(), Some(0));
    assert!(!guarded.socket().exists());
    std::fs::write(guarded.socket(), "x").unwrap();
    let other =
        guarded.serve().stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    let stderr = String::from_utf8(other.stderr).unwrap();
    assert!(stderr.contains("another file has its name"), "{stderr}");
}

fn frame(message: &[u8]) -> Vec<u8> {
    [&u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

fn read_frame(stream: &mut UnixStream) -> Option<Value> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut message = vec![0; u32::from_be_bytes(head) as usize];
    stream.read_exact(&mut message).ok()?;
    serde_json::from_slice(&message).ok()
}

#[test]
fn versions_that_differ_are_refused_on_both_sides() {
    let guarded = Guarded::new();
    let mut stream = UnixStream::connect(guarded.socket()).unwrap();
    assert_eq!(read_frame(&mut stream).unwrap()["version"], 1);
    stream.write_all(&frame(br#"{"version":2,"anything":true}"#)).unwrap();
    let refused = read_frame(&mut stream).unwrap();
    assert!(refused["refused"].as_str().unwrap().contains("version 2"), "{refused}");

    let other = Sandbox::new();
    let listener = UnixListener::bind(other.path("other.sock")).unwrap();
    let address = format!("unix:{}", other.path("other.sock").display());
    let run = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&frame(br#"{"version":7,"opsctl":"9.9.9"}"#)).unwrap();
            let _ = stream.read(&mut [0; 8]);
        });
        Sandbox::new().with("CLAUDEOPS_GUARD", &address).before("t1", "docker restart jellyfin")
    });
    assert!(run.stderr.contains("version 7 of its messages and this opsctl version 1"), "{run:?}");
}

#[test]
fn garbage_and_silence_do_not_disturb_the_guard() {
    let guarded = Guarded::new();
    let mut silent: Vec<UnixStream> =
        (0..100).map(|_| UnixStream::connect(guarded.socket()).unwrap()).collect();
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 64],
        &[0; 64],
        &frame(b"not json"),
        &frame(br#"{"version":1}"#),
        &frame(br#"{"version":1,"call":{"event":{}},"session":{"tier":"x"}}"#),
        &frame(br#"{"version":1,"call":"ping","session":{}}"#)[..20],
    ] {
        let mut stream = UnixStream::connect(guarded.socket()).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    for stream in &mut silent {
        let _ = stream.write_all(&[0, 0]);
    }
    passes(&restart(&guarded, "t1", "jellyfin"));
    assert_eq!(guarded.guard.sql("SELECT count(*) FROM hook_actions"), "1");
}

#[test]
fn a_session_and_its_hand_over_are_recorded_in_the_ledger_of_the_guard() {
    let guarded = Guarded::with(Sandbox::new(), |agent| {
        let client =
            agent.write("bin/claude", "#!/bin/sh\ncat >/dev/null\nenv >client-environment\nexit 3\n");
        std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
        let results = agent.path("results").display().to_string();
        agent.with("CLAUDEOPS_CLIENT", client.to_str().unwrap()).with("CLAUDEOPS_RESULTS_DIR", &results)
    });
    let run = guarded.agent.opsctl(&["session", "--tier", "1"], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""), "{run:?}");
    assert_eq!(guarded.guard.sql("SELECT tier, outcome, exit_code FROM client_runs"), "1|failed|3");
    assert!(guarded.agent.read("client-environment").contains("CLAUDEOPS_GUARD=unix:"));
    guarded.agent.write("handoff.json", "not a hand-over");
    let run = guarded.agent.opsctl(&["handoff", "take", "--from", "1"], b"");
    assert_eq!(run.code, Some(1), "{run:?}");
    let recorded = "SELECT count(*) FROM events WHERE message LIKE 'Stated by the agent: Needs attention: hand-over of tier 1 refused%'";
    assert_eq!(guarded.guard.sql(recorded), "1");
    let notices =
        "SELECT count(*) FROM notices WHERE title LIKE '%hand-over of tier 1 needs human attention'";
    assert_eq!(guarded.guard.sql(notices), "1");
    assert!(!guarded.agent.path("claudeops.db").exists());
}

/// A program of this name that runs a script of the shell.
fn stub(sandbox: &Sandbox, name: &str, script: &str) {
    let path = sandbox.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn doctor_shows_which_checks_of_the_guard_differ_with_the_remedy() {
    let path = std::env::var("PATH").unwrap();
    let of = |sandbox: Sandbox, ssh: &str| {
        stub(&sandbox, "ssh", ssh);
        sandbox.write(
            "hosts.yaml",
            "hosts: {nas: {address: 127.0.0.1, ssh: root@nas}}\nservices: {wiki: {host: nas}, notes: {host: nas}}\n",
        );
        let with_bin = format!("{}:{path}", sandbox.path("bin").display());
        sandbox.with("PATH", &with_bin)
    };
    let up = "echo Up 5 minutes";
    let refused = "echo 'root@nas: Permission denied (publickey).' >&2; exit 255";
    let compared = |agent: &str, guard: &str| -> Vec<Value> {
        let guarded = Guarded::with(of(Sandbox::new(), guard), |side| of(side, agent));
        let run = guarded.agent.opsctl(&["doctor", "--only", "guard checks", "--json"], b"");
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        report["findings"].as_array().unwrap().clone()
    };
    let differ = compared(up, refused);
    assert_eq!(differ.len(), 1, "one finding for each reason: {differ:?}");
    let what = "notes (container notes on root@nas), wiki (container wiki on root@nas): the guard finds \
                `unknown, ssh: root@nas: Permission denied (publickey).`, this side `healthy, ";
    assert!(differ[0]["what"].as_str().unwrap().starts_with(what), "{differ:?}");
    let remedy = differ[0]["remedy"].as_str().unwrap();
    assert!(remedy.starts_with("on the guard's side, authorize the key of the user"), "{remedy}");
    assert_eq!(differ[0]["condition"], "warning");
    let agree = compared(up, up);
    assert_eq!(agree[0]["what"], "the guard finds what this side finds, in 3 checks", "{agree:?}");
    let of_agent = compared(refused, up);
    assert!(of_agent[0]["remedy"].as_str().unwrap().starts_with("on this side, authorize"), "{of_agent:?}");
}

#[test]
fn doctor_warns_of_a_shared_agent_name_that_the_guard_knows() {
    let guarded = Guarded::new();
    for (session, process, ago) in [("s1", "7 1 b n 5", 30), ("s2", "9 3 b m 6", 20), ("s3", "8 2 b n 5", 10)]
    {
        let start = json!({"session_id": session, "cwd": "/app", "source": "startup"});
        assert_eq!(guarded.agent.hook("session-start", &start).code, Some(0));
        guarded.guard.sql(&format!(
            "UPDATE hook_sessions SET process = '{process}', agent = 'nas',
                 last_seen_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-{ago} minutes') WHERE session_id = '{session}'"
        ));
    }
    let run = guarded.agent.opsctl(&["doctor", "--only", "agent name"], b"");
    assert!(run.stdout.starts_with("warning  agent name: sessions of several machines"), "{run:?}");
    assert!(run.stdout.contains("the name nas\n"), "{run:?}");
}

/// A container that exits is started again and again.
#[test]
fn a_guard_with_wrong_settings_fails_once_also_as_the_first_process_of_a_container() {
    let guard = Sandbox::new().with("CLAUDEOPS_API_UPSTREAM", "nonsense").with("ANTHROPIC_API_KEY", "k");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--api", "127.0.0.1:0"];
    let why = "opsctl: CLAUDEOPS_API_UPSTREAM is `nonsense`; write a URL";
    let run = guard.opsctl(&arguments, b"");
    assert_eq!((run.code, run.stderr.lines().count()), (Some(1), 1), "{run:?}");
    assert!(run.stderr.starts_with(why), "{run:?}");

    let opsctl = guard.command(&arguments);
    let mut command = std::process::Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child"])
        .arg(opsctl.get_program())
        .args(arguments)
        .current_dir(guard.path("."))
        .env_clear()
        .envs(opsctl.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    assert!(line.starts_with(why) && line.ends_with("; then create the container again\n"), "{line}");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    child.kill().unwrap();
    child.wait().unwrap();
    line.clear();
    stderr.read_to_string(&mut line).unwrap();
    assert_eq!(line, "", "one line");
}

#[test]
fn failures_of_a_guard_that_can_write_nothing_become_one_event_with_their_time_span() {
    let guard = Sandbox::new();
    let [state, away] = ["state", "away"].map(|name| guard.path(name));
    std::fs::create_dir(&state).unwrap();
    let guarded = Guarded::with(guard.with("CLAUDEOPS_STATE_DIR", state.to_str().unwrap()), |agent| agent);
    passes(&guarded.agent.before("t1", "docker restart jellyfin"));
    passes(&guarded.agent.after("t1", "docker restart jellyfin"));
    std::fs::rename(&state, &away).unwrap();
    for id in ["t2", "t3"] {
        let run = guarded.agent.before(id, "docker restart jellyfin");
        passes(&run);
        assert!(run.stderr.contains("runs without being counted"), "{run:?}");
    }
    std::fs::rename(&away, &state).unwrap();
    passes(&guarded.agent.after("t4", "docker restart sonarr"));
    let events = "SELECT message FROM events WHERE level = 'critical'";
    let events = sqlite3(&state.join("claudeops.db"), events);
    assert_eq!(events.lines().count(), 1, "{events}");
    assert!(events.starts_with("The state folder could not be written from 20"), "{events}");
    assert!(events.contains("(2 failures); the first: Guard failed open: "), "{events}");
}
