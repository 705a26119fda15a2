//! A ledger on PostgreSQL: whole hook processes, over TLS on loopback. What a restart costs more than with a file, what the
//! start of a session costs with 10,000,000 events, and how many decisions per second 1, 10 and 100 agents get on this machine,
//! directly, through a pooler (`PgBouncer`) and through guards, with the CPU time of each part. Fails when a limit is exceeded.
//! `FLEET_EVENTS` states another number of events; with `FLEET_THROUGHPUT_ONLY`, only the decisions per second are measured.
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

use database_server::{DatabaseServer, PASSWORD};
use guard_process::Guarded;
use pooler::Pooler;
use sandbox::{Sandbox, call};

#[path = "../tests/support/database_server.rs"]
mod database_server;
#[path = "../tests/support/guard_process.rs"]
mod guard_process;
#[path = "../tests/support/pooler.rs"]
mod pooler;
#[path = "../tests/support/sandbox.rs"]
mod sandbox;

const ROUNDS: usize = 60;
/// What an allowed restart may cost more than with a file.
const MORE: Duration = Duration::from_millis(12);
/// What the start of a session may take.
const START: Duration = Duration::from_millis(100);
/// How many agents have a guard.
const GROUP: usize = 50;
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

/// The CPU time of a process in seconds, and that of its children that have ended.
fn cpu_time(pid: u32) -> (f64, f64) {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program, in parentheses, may contain anything.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let fields: Vec<f64> = fields
        .split(' ')
        .skip(11)
        .take(4)
        .map(|field| field.parse::<f64>().unwrap() / TICKS_PER_SECOND)
        .collect();
    match fields[..] {
        [user, system, user_of_children, system_of_children] => {
            (user + system, user_of_children + system_of_children)
        }
        _ => (0.0, 0.0),
    }
}

/// The CPU time of a server: of its main process, and of its backends, past and present.
fn cpu_time_of_server(pid: u32) -> f64 {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let backends: f64 = children.split_whitespace().map(|child| cpu_time(child.parse().unwrap()).0).sum();
    let (own, ended) = cpu_time(pid);
    own + ended + backends
}

/// The parts of a fleet, beside the client processes.
#[derive(Default)]
struct Parts {
    guards: Vec<Guarded>,
    pooler: Option<u32>,
    server: u32,
}

impl Parts {
    /// The CPU time of the client processes, the guards, the pooler and the server so far, and of this process, which starts the
    /// clients.
    fn cpu_times(&self) -> [f64; 5] {
        let (bench, clients) = cpu_time(std::process::id());
        let guards = self.guards.iter().map(|guard| cpu_time(guard.pid()).0).sum();
        let pooler = self.pooler.map_or(0.0, |pid| cpu_time(pid).0);
        [clients, guards, pooler, cpu_time_of_server(self.server), bench]
    }
}

/// Prints the decisions per second of agents that each ask about one restart after another, of services of their own, and the CPU
/// time of a decision by part.
fn measure(what: &str, agents: &[Sandbox], parts: &Parts) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let run = NUMBER.fetch_add(1, Ordering::Relaxed);
    // Connections are opened, and tables created.
    hook(&agents[0], "pre-tool-use", "first", &format!("docker restart first{run}"));
    let (done, before, began) = (AtomicUsize::new(0), parts.cpu_times(), Instant::now());
    std::thread::scope(|scope| {
        for (number, agent) in agents.iter().enumerate() {
            let done = &done;
            scope.spawn(move || {
                for round in 0.. {
                    if began.elapsed() > WORK {
                        break;
                    }
                    let service = format!("run{run}x{number}-{round}");
                    hook(agent, "pre-tool-use", &service, &format!("docker restart {service}"));
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (seconds, after) = (began.elapsed().as_secs_f64(), parts.cpu_times());
    let done = f64::from(u32::try_from(done.into_inner()).unwrap());
    let each: Vec<f64> =
        before.iter().zip(after).map(|(before, after)| (after - before) * 1000.0 / done).collect();
    let columns: Vec<String> = each.iter().map(|time| format!("{time:.2}")).collect();
    let all: f64 = each.iter().sum();
    println!("| {} | {what} | {:.0} | {} | {all:.2} |", agents.len(), done / seconds, columns.join(" | "));
}

/// Prints the table of decisions per second.
fn throughput(server: &DatabaseServer) {
    let pooler = Pooler::of(server, 20);
    let [direct, through_pooler] = [server.url("postgres", PASSWORD, "fleet"), pooler.url(server, "fleet")];
    let agent =
        |url: &str, name: &str| Sandbox::new().with("CLAUDEOPS_DB_URL", url).with("CLAUDEOPS_AGENT", name);
    println!(
        "| agents | way | decisions per second | client: ms | guard | PgBouncer | server | starting clients | all |"
    );
    println!("|--:|---|--:|--:|--:|--:|--:|--:|--:|");
    for count in [1, 10, 100] {
        for (what, url) in [("direct", &direct), ("PgBouncer", &through_pooler)] {
            let agents: Vec<Sandbox> =
                (0..count).map(|number| agent(url, &format!("agent{number}"))).collect();
            let pooler = (what == "PgBouncer").then(|| pooler.pid());
            measure(what, &agents, &Parts { pooler, server: server.pid(), ..Parts::default() });
        }
        for (what, url) in [("guard", &direct), ("guard, PgBouncer", &through_pooler)] {
            // One for each group of machines.
            let groups = usize::div_ceil(count, GROUP);
            let guards: Vec<Guarded> =
                (0..groups).map(|_| Guarded::with(agent(url, "guard"), |agent| agent)).collect();
            let agents: Vec<Sandbox> = (0..count)
                .map(|number| {
                    let address = format!("unix:{}", guards[number % groups].socket().display());
                    Sandbox::new().with("CLAUDEOPS_GUARD", &address)
                })
                .collect();
            let pooler = (url == &through_pooler).then(|| pooler.pid());
            measure(what, &agents, &Parts { guards, pooler, server: server.pid() });
        }
    }
}

fn main() -> ExitCode {
    let events: u64 = std::env::var("FLEET_EVENTS").map_or(10_000_000, |number| number.parse().unwrap());
    let server = DatabaseServer::durable();
    let url = server.database("fleet");
    let agent = |name: &str| Sandbox::new().with("CLAUDEOPS_DB_URL", &url).with("CLAUDEOPS_AGENT", name);
    let (file, shared) = (Sandbox::new(), agent("one"));
    if std::env::var_os("FLEET_THROUGHPUT_ONLY").is_some() {
        throughput(&server);
        return ExitCode::SUCCESS;
    }
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

    throughput(&server);
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
