//! The socket of the guard under kills, load and hostile peers.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use opsctl::machine::link::address::Address;
use opsctl::machine::link::caller;
use opsctl::machine::link::message::{Call, Reply, Request, SessionFacts};
use serde_json::Value;

use crate::guard_process::Guarded;
use crate::random::Random;
use crate::sandbox::{Sandbox, call, denied, passes};

const KILLS: usize = 500;
const PROCESSES: usize = 200;

/// How many calls the test of the memory makes; `GUARD_CALLS` states another number.
const CALLS: usize = 20_000;

/// The most memory that a guard may ever have used, without its code, in KiB.
const MOST_MEMORY: u64 = 24 * 1024;

/// How much of it may be taken after the first tenth of the calls, in KiB.
const MOST_GROWTH: u64 = 4 * 1024;

/// The most memory that requests over the usual size may take in addition, in KiB.
const MOST_LARGE: u64 = 24 * 1024;

fn start(guarded: &Guarded, event: &str, id: &str, command: &str) -> Child {
    let mut child = guarded
        .agent
        .command(&["hook", event])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(call(id, command).to_string().as_bytes());
    child
}

fn count(guarded: &Guarded, query: &str) -> usize {
    guarded.guard.sql(query).parse().unwrap()
}

/// Kills the guard, or the hook, `delay` after the hook has started. A killed guard is started again at once, as by a service
/// manager. Returns whether the hook has allowed the call.
fn killed(
    guarded: &mut Guarded,
    event: &str,
    id: &str,
    command: &str,
    kills_guard: bool,
    delay: Duration,
) -> bool {
    let began = Instant::now();
    let mut child = start(guarded, event, id, command);
    while began.elapsed() < delay {
        std::thread::sleep(Duration::from_micros(50));
    }
    if kills_guard {
        guarded.kill();
        guarded.start();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("cannot be reached") && !stderr.contains("did not answer"), "{stderr}");
        output.status.code() == Some(0)
    } else {
        let ended = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        ended && output.status.code() == Some(0)
    }
}

/// Each round restarts a service of its own twice, once with the guard or the hook killed at a random moment.
#[test]
fn five_hundred_kills_lose_no_action_and_count_none_twice() {
    let mut guarded = Guarded::new();
    passes(&guarded.agent.before("warm", "docker restart warm"));
    let mut random = Random::new(11);
    let mut kills = [0; 2];
    for round in 0..KILLS / 2 {
        let (service, id) = (format!("s{round}"), format!("t{round}"));
        let command = format!("docker restart {service}");
        let kills_guard = round % 2 == 0;
        let mut delay = || Duration::from_micros(random.next() % 14_000);
        kills[usize::from(kills_guard)] += 2;
        let allowed = killed(&mut guarded, "pre-tool-use", &id, &command, kills_guard, delay());
        let rows = format!("SELECT count(*) FROM hook_actions WHERE service = '{service}'");
        let reserved = count(&guarded, &rows);
        assert!(
            reserved <= 1 && (reserved == 1 || !allowed),
            "round {round}: {reserved} rows, allowed {allowed}"
        );
        if kills_guard {
            assert!(allowed && reserved == 1, "round {round}: the call was not allowed");
        }
        // The report is cut off, too, and repeated.
        killed(&mut guarded, "post-tool-use", &id, &command, kills_guard, delay());
        for _ in 0..2 {
            passes(&guarded.agent.after(&id, &command));
        }
        assert_eq!(count(&guarded, &rows), 1, "round {round}");
        let counted = format!("SELECT count(*) FROM cooldown_actions WHERE service = '{service}'");
        assert_eq!(count(&guarded, &counted), 1, "round {round}");
        // One place is left, and no more.
        passes(&guarded.agent.before(&format!("{id}b"), &command));
        denied(&guarded.agent.before(&format!("{id}c"), &command));
    }
    assert_eq!(guarded.guard.sql("PRAGMA integrity_check"), "ok");
    assert_eq!(count(&guarded, "SELECT count(*) FROM cooldown_actions"), KILLS / 2);
    assert_eq!(count(&guarded, "SELECT count(*) FROM hook_actions"), KILLS + 1);
    println!("{} kills of hooks and {} of the guard", kills[0], kills[1]);
}

#[test]
fn two_hundred_calls_at_once_take_two_places_in_every_round() {
    for round in 0..5 {
        let guarded = Guarded::new();
        let children: Vec<Child> = (0..PROCESSES)
            .map(|_| {
                let mut command = guarded.agent.command(&["hook", "pre-tool-use"]);
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let ready = Barrier::new(PROCESSES);
        let began = Instant::now();
        let codes: Vec<(Option<i32>, String)> = std::thread::scope(|scope| {
            let waiting: Vec<_> = children
                .into_iter()
                .enumerate()
                .map(|(n, mut child)| {
                    let ready = &ready;
                    scope.spawn(move || {
                        let input = call(&format!("t{n}"), "docker restart jellyfin").to_string();
                        let mut stdin = child.stdin.take().unwrap();
                        ready.wait();
                        stdin.write_all(input.as_bytes()).unwrap();
                        drop(stdin);
                        let output = child.wait_with_output().unwrap();
                        (output.status.code(), String::from_utf8(output.stderr).unwrap())
                    })
                })
                .collect();
            waiting.into_iter().map(|answer| answer.join().unwrap()).collect()
        });
        let allowed = codes.iter().filter(|(code, _)| *code == Some(0)).count();
        let odd = codes.iter().find(|(code, stderr)| match code {
            Some(0) => stderr.contains("the guard at"),
            _ => !stderr.starts_with("Cooldown limit exceeded"),
        });
        assert!(odd.is_none(), "round {round}: {odd:?}");
        assert_eq!(allowed, 2, "round {round}");
        println!("round {round}: {allowed} of {PROCESSES} allowed, {:?}", began.elapsed());
        assert_eq!(guarded.guard.sql("PRAGMA integrity_check"), "ok");
    }
}

/// The most memory that a process has used, without its code, which a development build has much of, in KiB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let kib = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    kib("VmHWM:") - kib("RssFile:")
}

fn ask(address: &Address, id: &str, command: &str) -> Value {
    let request = Request {
        version: opsctl::machine::link::VERSION,
        call: Call::Event { event: Some("pre-tool-use".to_owned()) },
        session: SessionFacts {
            project_dir: "/app".into(),
            results_dir: "/results".into(),
            ..SessionFacts::default()
        },
    };
    let input = call(id, command).to_string();
    let sent = (&request, input.as_bytes());
    match caller::call(address, sent, Duration::from_mins(1), &mut |_| Value::Null).unwrap() {
        Reply::Answer(answer) => serde_json::to_value(answer.denial).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_calls_need_constant_memory() {
    let calls = std::env::var("GUARD_CALLS").ok().map_or(CALLS, |calls| calls.parse().unwrap());
    let guarded = Guarded::new();
    let address = Address::Unix(guarded.socket());
    let began = Instant::now();
    let mut peaks = Vec::new();
    for part in 0..10 {
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let address = &address;
                scope.spawn(move || {
                    for n in 0..calls / 80 {
                        let id = format!("{part}-{thread}-{n}");
                        ask(address, &id, &format!("docker restart s{}", n % 50));
                    }
                });
            }
        });
        peaks.push(peak(guarded.pid()));
    }
    let allowed = count(&guarded, "SELECT count(*) FROM hook_actions");
    println!("{calls} calls in {:?}, {allowed} allowed; peaks in KiB: {peaks:?}", began.elapsed());
    assert_eq!(allowed, 100);
    let (first, last) = (peaks[0], *peaks.last().unwrap());
    assert!(last < MOST_MEMORY && last - first < MOST_GROWTH, "{peaks:?}");
}

/// Silent peers have their connections for a few seconds, and large requests a bounded memory.
#[test]
fn hostile_peers_cost_little_and_leave_room_for_others() {
    let guarded = Guarded::new();
    let connect = || UnixStream::connect(guarded.socket()).unwrap();
    let _silent: Vec<UnixStream> = (0..400).map(|_| connect()).collect();
    // Requests of a MiB each, which arrive but for the last byte.
    let mut large: Vec<UnixStream> = (0..60).map(|_| connect()).collect();
    std::thread::scope(|scope| {
        for stream in &mut large {
            scope.spawn(|| {
                stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
                let _ = stream.write_all(&(1024 * 1024_u32).to_be_bytes());
                let _ = stream.write_all(&vec![b' '; 1024 * 1024 - 1]);
            });
        }
        passes(&guarded.agent.before("t1", "docker restart jellyfin"));
    });
    let began = Instant::now();
    passes(&guarded.agent.before("t2", "docker restart jellyfin"));
    println!("beside 460 hostile peers: {:?}, peak {} KiB", began.elapsed(), peak(guarded.pid()));
    assert!(peak(guarded.pid()) < MOST_MEMORY + MOST_LARGE);
    // The guard closes them.
    let mut rest = Vec::new();
    let mut first = large.remove(0);
    first.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let closed = first.read_to_end(&mut rest).map_err(|error| error.kind());
    assert!(matches!(closed, Ok(_) | Err(ErrorKind::ConnectionReset)), "{closed:?}");
    denied(&guarded.agent.before("t3", "docker restart jellyfin"));
}

/// Needs root: it runs the hook as another user.
#[test]
fn a_user_that_is_not_listed_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("left out: only root can run a program as another user");
        return;
    }
    let ask = |guarded: &Guarded| {
        let folder = guarded.guard.path(".");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        // The folder of the build may be closed to other users.
        let program = guarded.guard.path("opsctl");
        let own = guarded.agent.command(&[]);
        std::fs::copy(own.get_program(), &program).unwrap();
        let output = Command::new(program)
            .args(["doctor", "--only", "guard"])
            .env_clear()
            .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir("/")
            .uid(54_321)
            .gid(54_321)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let found = ask(&Guarded::new());
    assert!(found.contains("FAILED") && found.contains("user 54321 is not allowed"), "{found}");
    let sandbox = Sandbox::new().with("CLAUDEOPS_GUARD_UIDS", "1000,54321");
    let found = ask(&Guarded::with(sandbox, |agent| agent));
    assert!(found.starts_with("ok ") && found.contains("answered in"), "{found}");
}

#[test]
fn the_doctor_on_the_agents_side_says_whether_the_guard_can_use_its_ledger() {
    let mut guarded = Guarded::new();
    passes(&guarded.agent.before("t1", "docker restart jellyfin"));
    let ask = |guarded: &Guarded| {
        let run = guarded.agent.opsctl(&["doctor", "--only", "ledger"], b"");
        (run.code, run.stdout)
    };
    let (code, found) = ask(&guarded);
    assert!(code == Some(0) && found.contains("the guard can read and write it"), "{found}");
    std::fs::remove_file(guarded.guard.path("claudeops.db")).unwrap();
    let (code, found) = ask(&guarded);
    assert!(code == Some(1) && found.contains("FAILED") && found.contains("of the guard: "), "{found}");
    guarded.kill();
    let (_, found) = ask(&guarded);
    assert!(found.contains("not known: the guard at "), "{found}");
}
