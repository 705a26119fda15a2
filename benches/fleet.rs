//! A ledger on PostgreSQL: whole hook processes, over TLS on loopback. What a restart costs more than with a file, what the
//! start of a session costs with 10,000,000 events, and how many decisions per second 1, 10 and 100 agents get on this machine.
//! Fails when a limit is exceeded. `FLEET_EVENTS` states another number of events.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark may stop where it cannot go on"
)]

use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use database_server::DatabaseServer;
use guard_process::Guarded;
use sandbox::{Sandbox, call};

#[path = "../tests/support/database_server.rs"]
mod database_server;
#[path = "../tests/support/guard_process.rs"]
mod guard_process;
#[path = "../tests/support/sandbox.rs"]
mod sandbox;

const ROUNDS: usize = 60;
/// What an allowed restart may cost more than with a file.
const MORE: Duration = Duration::from_millis(12);
/// What the start of a session may take.
const START: Duration = Duration::from_millis(100);
/// How long the agents work.
const WORK: Duration = Duration::from_secs(8);

/// The hook of an agent, from its start to its end.
fn hook(sandbox: &Sandbox, event: &str, id: &str, command: &str) -> Duration {
    let input = format!("{event}.json");
    sandbox.write(&input, &call(id, command).to_string());
    let own = sandbox.command(&["hook", event]);
    let mut hook = Command::new(own.get_program());
    hook.args(own.get_args())
        .env_clear()
        .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(sandbox.path("."))
        .stdin(std::fs::File::open(sandbox.path(&input)).unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let began = Instant::now();
    assert_eq!(hook.status().unwrap().code(), Some(0), "{event} {command}");
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Decisions per second of agents that each ask about one restart after another, of services of their own.
fn per_second(agents: &[Sandbox], name: &str) -> f64 {
    let (done, began) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for (number, agent) in agents.iter().enumerate() {
            let done = &done;
            scope.spawn(move || {
                for round in 0.. {
                    if began.elapsed() > WORK {
                        break;
                    }
                    let service = format!("{name}{number}-{round}");
                    hook(agent, "pre-tool-use", &service, &format!("docker restart {service}"));
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    f64::from(u32::try_from(done.into_inner()).unwrap()) / seconds
}

fn main() -> ExitCode {
    let events: u64 = std::env::var("FLEET_EVENTS").map_or(10_000_000, |number| number.parse().unwrap());
    let server = DatabaseServer::durable();
    let url = server.database("fleet");
    let agent = |name: &str| Sandbox::new().with("CLAUDEOPS_DB_URL", &url).with("CLAUDEOPS_AGENT", name);
    let (file, shared) = (Sandbox::new(), agent("one"));
    let mut met = true;

    let more = |file: &Sandbox, shared: &Sandbox, what: &str| {
        let mut times = [vec![], vec![]];
        for round in 0..ROUNDS + 5 {
            for (sandbox, times) in [file, shared].into_iter().zip(&mut times) {
                let service = format!("s{round}");
                let took = hook(sandbox, "pre-tool-use", &service, &format!("docker restart {service}"));
                // The first create the tables, and warm up.
                if round >= 5 {
                    times.push(took);
                }
            }
        }
        let [file, server] = times.map(median);
        let more = server.saturating_sub(file);
        println!("an allowed restart, {what}: file {file:.2?}, server {server:.2?}, difference {more:.2?}");
        more
    };
    let connection = server.connection_time();
    let direct = more(&file, &shared, "each hook connects");
    println!(
        "pgbench needs {connection:.2?} to connect; the rest of the difference is {:.2?} (allowed {MORE:?})",
        direct.saturating_sub(connection)
    );
    met &= direct <= MORE + connection;
    let guards = [Guarded::new(), Guarded::with(agent("guard"), |agent| agent)];
    let through = more(&guards[0].agent, &guards[1].agent, "through a guard");
    println!("allowed through a guard: {MORE:?}");
    met &= through <= MORE;
    drop(guards);

    server.psql(
        "fleet",
        &format!(
            "INSERT INTO events (session_id, level, service, message, created_at, source)
             SELECT 's' || i % 1000, 'info', 'service' || i % 500, 'Container restarted: docker restart service' || i % 500,
                    now() - (({events} - i) * interval '3 seconds'), 'hook' FROM generate_series(1, {events}) AS i;
             INSERT INTO recorded_events (event_id, session_id, source, agent)
             SELECT id, session_id, source, 'agent' || id % 100 FROM events ON CONFLICT DO NOTHING"
        ),
    );
    server.psql("fleet", "VACUUM ANALYZE events, recorded_events");
    let starts = (0..20).map(|round| hook(&shared, "session-start", &format!("start{round}"), "")).collect();
    let start = median(starts);
    println!("the start of a session with {events} events: {start:.2?} (allowed {START:?})");
    met &= start <= START;

    println!("| agents | decisions per second, each hook connects | through one guard |");
    println!("|--:|--:|--:|");
    for count in [1, 10, 100] {
        let agents: Vec<Sandbox> = (0..count).map(|number| agent(&format!("agent{number}"))).collect();
        let direct = per_second(&agents, &format!("direct{count}x"));
        let guarded = Guarded::with(agent("guard"), |agent| agent);
        let address = format!("unix:{}", guarded.socket().display());
        let agents: Vec<Sandbox> =
            (0..count).map(|_| Sandbox::new().with("CLAUDEOPS_GUARD", &address)).collect();
        let through = per_second(&agents, &format!("guarded{count}x"));
        println!("| {count} | {direct:.0} | {through:.0} |");
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
