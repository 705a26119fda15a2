//! A server that is away: `policy.on_failure` applies in time, and what ran is recorded later, once.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::database_server::{DatabaseServer, PASSWORD};
use crate::sandbox::on_file::Sandbox;
use crate::sandbox::{Run, call, denied, passes};

/// Within this time a hook answers while the server is away: two seconds, and what a busy machine adds.
const LIMIT: Duration = Duration::from_millis(2500);

const RESTART: &str = "docker restart jellyfin";

const KEPT: &str = "guard-undelivered.jsonl";

const CLAIMED: &str = "guard-undelivered.claimed.jsonl";

/// What is kept, in the order in which it ran.
fn kept(agent: &Sandbox) -> String {
    let files = [CLAIMED, KEPT].map(|name| agent.path(name)).into_iter().filter(|file| file.exists());
    let read = |file: std::path::PathBuf| {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::read_to_string(file).unwrap()
    };
    files.map(read).collect()
}

fn agent(url: &str) -> Sandbox {
    Sandbox::new().with("CLAUDEOPS_DB_URL", url).with("CLAUDEOPS_AGENT", "nas")
}

/// The result of a hook that answers in time.
fn in_time(what: &str, hook: impl FnOnce() -> Run) -> Run {
    within(what, LIMIT, hook)
}

fn within(what: &str, limit: Duration, hook: impl FnOnce() -> Run) -> Run {
    let began = Instant::now();
    let run = hook();
    let took = began.elapsed();
    eprintln!("{what}: {:.2} s", took.as_secs_f32());
    assert!(took < limit, "{what} took {took:?}: {run:?}");
    run
}

/// All hooks that use the ledger, in the order of a session.
fn all_hooks(agent: &Sandbox, how: &str) {
    let session =
        json!({"session_id": "sess-abc-123", "cwd": "/app", "source": "startup", "reason": "other"});
    let result = json!({"session_id": "sess-abc-123", "tool_calls": []});
    let run = in_time(&format!("{how}: session-start"), || agent.hook("session-start", &session));
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = in_time(&format!("{how}: pre-tool-use"), || agent.before("t1", RESTART));
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("on_failure is open"), "{run:?}");
    let run = in_time(&format!("{how}: post-tool-use"), || agent.after("t1", RESTART));
    assert!(run.stderr.contains("is kept, and recorded later"), "{run:?}");
    for event in ["user-prompt-submit", "post-tool-batch", "stop", "subagent-stop", "notification"] {
        in_time(&format!("{how}: {event}"), || agent.hook(event, &result));
    }
    let run = in_time(&format!("{how}: session-end"), || agent.hook("session-end", &session));
    assert!(run.stderr.contains("the end of the session is kept"), "{run:?}");
    // A call that was allowed, its report, and the end of the session.
    assert_eq!(kept(agent).lines().count(), 3);
    in_time(&format!("{how}: a command without an action"), || agent.before("t2", "ls -la"));
}

#[test]
fn every_hook_answers_in_time_however_the_server_is_away() {
    let mut server = DatabaseServer::new();
    let url = server.database("ops");
    passes(&agent(&url).before("t0", RESTART));
    server.signal(Signal::STOP);
    all_hooks(&agent(&url), "stopped");
    server.signal(Signal::CONT);
    server.end(Signal::QUIT);
    all_hooks(&agent(&url), "refused");
    // Addresses for documentation are routed to nowhere.
    all_hooks(&agent(&url.replace("localhost", "192.0.2.1")), "blackholed");
    let closed = agent(&url);
    closed.write("hosts.yaml", "policy: {on_failure: closed}\n");
    let reason = denied(&in_time("closed", || closed.before("t1", RESTART)));
    assert!(reason.contains("on_failure is closed"), "{reason}");
}

#[test]
fn what_ran_during_an_outage_is_recorded_once_and_at_its_time() {
    let mut server = DatabaseServer::new();
    let url = server.database("ops");
    let agent = agent(&url);
    agent.write("hosts.yaml", "policy: {ask: []}\n");
    passes(&agent.before("t1", RESTART));
    server.end(Signal::INT);
    // The first was reserved before, the second was not. The third is denied by what this machine knows itself.
    assert_eq!(agent.after("t1", RESTART).code, Some(0));
    assert_eq!(agent.before("t2", RESTART).code, Some(0));
    assert_eq!(agent.after("t2", RESTART).code, Some(0));
    let reason = denied(&agent.before("t3", RESTART));
    assert!(reason.contains("2/2 restarts in last 4h"), "{reason}");
    let lines = kept(&agent);
    assert_eq!(lines.lines().count(), 3);
    std::thread::sleep(Duration::from_secs(3));
    server.start();
    for _ in 0..3 {
        let shown = agent.opsctl(&["cooldown", "show", "jellyfin"], b"");
        assert!(shown.stdout.starts_with("jellyfin: 2/2 restarts"), "{shown:?}");
        assert_eq!(kept(&agent), "");
        // A process that was killed before it removed the file delivers it again, and a line may be cut off.
        agent.write(KEPT, &format!("{lines}{{\"finished\": {{\"at\""));
    }
    denied(&agent.before("t4", RESTART));
    assert_eq!(server.psql("ops", "SELECT count(*) FROM cooldown_actions"), "2");
    assert_eq!(server.psql("ops", "SELECT count(*) FROM hook_actions WHERE state = 'done'"), "2");
    assert_eq!(server.psql("ops", "SELECT count(*) FROM events WHERE service = 'jellyfin'"), "2");
    let late = "SELECT count(*) FROM cooldown_actions WHERE timestamp < now() - interval '3 seconds'";
    assert_eq!(server.psql("ops", late), "2");
}

#[test]
fn reports_survive_kills_while_they_are_delivered() {
    let mut server = DatabaseServer::new();
    let url = server.database("ops");
    let agent = agent(&url);
    passes(&agent.before("t0", RESTART));
    server.end(Signal::INT);
    let count = 12;
    for n in 0..count {
        assert_eq!(agent.after(&format!("t{n}"), &format!("docker restart service{n}")).code, Some(0));
    }
    server.start();
    // Each is killed a little later than the one before, and all but the last before it is done.
    for n in 0..40 {
        let mut verb = agent.command(&["cooldown", "--json"]);
        let mut child = verb.stdout(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(10 + 10 * n));
        let _ = child.kill();
        child.wait().unwrap();
    }
    for _ in 0..3 {
        assert_eq!(agent.opsctl(&["cooldown", "--json"], b"").code, Some(0));
    }
    assert_eq!(kept(&agent), "");
    let twice = "SELECT count(*), count(DISTINCT service) FROM cooldown_actions";
    assert_eq!(server.psql("ops", twice), format!("{count}|{count}"));
}

#[test]
fn the_end_of_a_session_is_recorded_later_and_settles_only_what_was_open_then() {
    let mut server = DatabaseServer::new();
    let url = server.database("ops");
    let agent = agent(&url);
    let session =
        json!({"session_id": "sess-abc-123", "cwd": "/app", "source": "startup", "reason": "other"});
    assert_eq!(agent.hook("session-start", &session).code, Some(0));
    passes(&agent.before("t1", RESTART));
    std::thread::sleep(Duration::from_millis(1100));
    server.end(Signal::INT);
    agent.hook("session-end", &session);
    let ended = agent.read(KEPT);
    server.start();
    std::thread::sleep(Duration::from_millis(1100));
    // The same session goes on before its end is delivered.
    std::fs::remove_file(agent.path(KEPT)).unwrap();
    passes(&agent.before("t2", "docker restart sonarr"));
    agent.write(KEPT, &ended);
    assert_eq!(agent.opsctl(&["status", "--no-hosts"], b"").code, Some(0));
    let open = "SELECT tool_use_id, state FROM hook_actions ORDER BY id";
    assert_eq!(server.psql("ops", open), "t1|unknown\nt2|reserved");
    assert_eq!(server.psql("ops", "SELECT state, ended_at IS NULL FROM hook_sessions"), "ended|f");
}

#[test]
fn a_server_that_stops_in_the_middle_is_noticed_in_time() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    passes(&agent(&url).before("t0", RESTART));
    // Another agent holds the lock of everything, so that a hook waits in the middle of its work.
    let holder = server.holding("ops", "SELECT pg_advisory_lock(1869640547, 0)");
    let agent = agent(&url);
    let mut hook = agent.command(&["hook", "pre-tool-use"]);
    let stdin = agent.write("call.json", &call("t1", RESTART).to_string());
    let child =
        hook.stdin(std::fs::File::open(stdin).unwrap()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    server.signal(Signal::STOP);
    // It waits for the lock of another agent, for which the server has longer to answer.
    let run = within("stopped in the middle", LIMIT + Duration::from_secs(2), || {
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    });
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("on_failure is open"), "{run:?}");
    server.signal(Signal::CONT);
    drop(holder);
}

#[test]
fn an_agent_that_stops_in_a_transaction_does_not_stop_the_others() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    passes(&agent(&url).before("t0", RESTART));
    // The table is locked, so that the hook waits in the middle of its transaction, and stops there.
    let holder = server.holding("ops", "BEGIN; LOCK TABLE hook_decisions IN EXCLUSIVE MODE");
    let stopped = agent(&url);
    let mut hook = stopped.command(&["hook", "pre-tool-use"]);
    let stdin = stopped.write("call.json", &call("t1", "docker restart radarr").to_string());
    let mut child = hook.stdin(std::fs::File::open(stdin).unwrap()).spawn().unwrap();
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'hook_decisions'::regclass";
    while server.psql("ops", waits) != "1" {
        assert!(child.try_wait().unwrap().is_none(), "it did not wait");
    }
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    drop(holder);
    let run = agent(&url).before("t2", "docker restart radarr");
    passes(&run);
    assert!(!run.stderr.contains("without being counted"), "{run:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_guard_that_serves_many_answers_in_time_too() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    let guard = agent(&url);
    let socket = guard.path("guard.sock");
    let _process = Ends(guard.command(&["serve", "--socket", socket.to_str().unwrap()]).spawn().unwrap());
    let hook = Sandbox::new().with("CLAUDEOPS_GUARD", &format!("unix:{}", socket.display()));
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    for n in 0..8 {
        passes(&hook.before(&format!("t{n}"), &format!("docker restart service{n}")));
    }
    server.signal(Signal::STOP);
    std::thread::scope(|scope| {
        for n in 0..4 {
            let hook = &hook;
            scope.spawn(move || {
                let command = format!("docker restart service{n}");
                for round in 0..2 {
                    let what = format!("guard, {n}, round {round}");
                    let run = in_time(&what, || hook.after(&format!("t{n}"), &command));
                    assert!(round > 0 || run.stderr.contains("is kept, and recorded later"), "{run:?}");
                }
            });
        }
    });
    server.signal(Signal::CONT);
    // The guard has lost its connections, and opens new ones when its memory of the failure has passed.
    std::thread::sleep(Duration::from_millis(1200));
    passes(&hook.before("t9", "docker restart service9"));
    let counted = "SELECT count(*), count(DISTINCT service) FROM cooldown_actions";
    assert_eq!(server.psql("ops", counted), "4|4");
}

/// A server behind a network that is gone, or one that is frozen, is listed before the one that works.
#[test]
fn a_listed_host_that_never_answers_costs_one_hook_its_part_of_the_time() {
    let server = DatabaseServer::new();
    server.database("ops");
    let silent = std::net::TcpListener::bind("localhost:0").unwrap();
    let hosts = format!("localhost:{},localhost:{}", silent.local_addr().unwrap().port(), server.port);
    let agent = agent(&server.url_at(&hosts, "postgres", PASSWORD, "ops"));
    for n in 0..10 {
        let what = format!("hook {n}");
        let limit = if n == 0 { LIMIT } else { Duration::from_secs(1) };
        passes(&within(&what, limit, || {
            agent.before(&format!("t{n}"), &format!("docker restart service{n}"))
        }));
    }
    assert_eq!(server.psql("ops", "SELECT count(*) FROM hook_actions"), "10");
}

/// A process that ends with its test.
struct Ends(std::process::Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
