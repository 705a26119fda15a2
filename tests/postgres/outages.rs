//! The server is stopped, restarted, killed, frozen and replaced by its replica while agents act.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::database_server::{DatabaseServer, PASSWORD};
use crate::sandbox::on_file::{Sandbox, timed};
use crate::sandbox::{Run, call, passes};

/// How long a hook may take: two seconds, and what a busy machine adds.
pub const DEADLINE: Duration = Duration::from_secs(4);

/// An action that has run, as its agent knows it.
struct Ran {
    service: String,
    /// Whether the hook after it complained of the ledger.
    complained: bool,
}

/// What an agent has done, and how long its slowest hook took.
#[derive(Default)]
struct Work {
    ran: Vec<Ran>,
    slowest: Duration,
    /// The hooks that took longer than the deadline.
    late: Vec<String>,
}

/// An agent that restarts one service after the other, each one once.
struct Agent {
    name: String,
    sandbox: Sandbox,
    work: Mutex<Work>,
}

impl Agent {
    fn new(name: &str, url: &str) -> Self {
        let sandbox = Sandbox::new().with("CLAUDEOPS_DB_URL", url).with("CLAUDEOPS_AGENT", name);
        sandbox.write("hosts.yaml", "policy: {on_failure: open}\n");
        Self { name: name.to_owned(), sandbox, work: Mutex::default() }
    }

    fn hook(&self, event: &str, service: &str) -> Run {
        let input = call(service, &format!("docker restart {service}")).to_string();
        let (run, took) = timed(self.sandbox.command(&["hook", event]), input.as_bytes());
        let mut work = self.work.lock().unwrap();
        work.slowest = work.slowest.max(took);
        if took > DEADLINE {
            work.late.push(format!("{event} of {service}: {took:?}, {run:?}"));
        }
        passes(&run);
        run
    }

    /// One action: the hook before it, and the hook after it.
    fn act(&self) {
        let service = format!("{}-{}", self.name, self.actions());
        self.hook("pre-tool-use", &service);
        let after = self.hook("post-tool-use", &service);
        let complained = after.stderr.contains("postgres://");
        self.work.lock().unwrap().ran.push(Ran { service, complained });
    }

    fn actions(&self) -> usize {
        self.work.lock().unwrap().ran.len()
    }

    /// How many actions were recorded at once.
    fn recorded(&self) -> usize {
        self.work.lock().unwrap().ran.iter().filter(|ran| !ran.complained).count()
    }
}

fn wait(what: &str, agents: &[Agent], done: impl Fn(&Agent) -> bool) {
    let started = Instant::now();
    while !agents.iter().all(&done) {
        assert!(started.elapsed() < Duration::from_mins(2), "{what} does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Lets all agents act, with any result.
fn some_actions(agents: &[Agent], count: usize) {
    let before: BTreeMap<&str, usize> =
        agents.iter().map(|agent| (agent.name.as_str(), agent.actions())).collect();
    wait("the outage", agents, |agent| agent.actions() >= before[agent.name.as_str()] + count);
}

/// Lets all agents act until their actions are recorded.
fn some_recorded(agents: &[Agent], count: usize) {
    let before: BTreeMap<&str, usize> =
        agents.iter().map(|agent| (agent.name.as_str(), agent.recorded())).collect();
    wait("the return of the server", agents, |agent| agent.recorded() >= before[agent.name.as_str()] + count);
}

/// Stops the agents when it is dropped, also by a failure.
struct Until<'a>(&'a AtomicBool);

impl Drop for Until<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets agents act while `outage` happens. Every action is then counted once, and no hook was late.
fn agents_lose_nothing(url: &str, outage: impl FnOnce(&[Agent]), sql: impl FnOnce(&str) -> String) {
    let agents = ["nas", "pie", "box"].map(|name| Agent::new(name, url));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let until = Until(&is_over);
        for agent in &agents {
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    agent.act();
                }
            });
        }
        some_recorded(&agents, 3);
        outage(&agents);
        drop(until);
    });
    for agent in &agents {
        agent.act();
    }
    let counts = sql("SELECT service, count(*) FROM cooldown_actions GROUP BY service");
    let counts: BTreeMap<&str, &str> = counts.lines().map(|line| line.rsplit_once('|').unwrap()).collect();
    let (mut all, mut complained, mut lost) = (0, 0, vec![]);
    for agent in &agents {
        let work = agent.work.lock().unwrap();
        assert_eq!(work.late, Vec::<String>::new(), "{}", agent.name);
        for ran in &work.ran {
            all += 1;
            complained += usize::from(ran.complained);
            match counts.get(ran.service.as_str()) {
                Some(&count) => assert_eq!(count, "1", "{} counts twice", ran.service),
                None if ran.complained => lost.push(ran.service.clone()),
                None => panic!("{} was reported as recorded, and is not counted", ran.service),
            }
        }
        println!("{}: {} actions, the slowest hook took {:?}", agent.name, work.ran.len(), work.slowest);
    }
    println!("{all} actions, {complained} of them during the outage");
    // What ran during the outage has been recorded since.
    assert_eq!(lost, Vec::<String>::new());
}

fn own(server: &mut DatabaseServer) -> String {
    server.configure("fsync = off\n");
    server.start();
    server.database("ops")
}

#[test]
fn a_server_that_is_stopped_restarted_killed_or_frozen_loses_nothing_and_delays_no_hook() {
    let mut server = DatabaseServer::created();
    let url = own(&mut server);
    let port = server.port;
    let server = Mutex::new(server);
    let outage = |agents: &[Agent]| {
        let mut server = server.lock().unwrap();
        for (what, signal, actions) in [
            ("stopped", Signal::INT, 3),
            ("restarted", Signal::INT, 0),
            ("killed", Signal::KILL, 0),
            ("killed, and away", Signal::KILL, 3),
        ] {
            server.end(signal);
            some_actions(agents, actions);
            server.start();
            some_recorded(agents, 3);
            println!("{what}");
        }
        server.signal(Signal::STOP);
        some_actions(agents, 2);
        server.signal(Signal::CONT);
        some_recorded(agents, 3);
    };
    assert_eq!(port, server.lock().unwrap().port);
    agents_lose_nothing(&url, outage, |query| server.lock().unwrap().psql("ops", query));
}

#[test]
fn a_failover_to_a_synchronous_replica_loses_nothing_and_delays_no_hook() {
    let mut primary = DatabaseServer::created();
    own(&mut primary);
    let mut replica = DatabaseServer::replica_of(&primary);
    replica.configure("wal_retrieve_retry_interval = 100ms\n");
    replica.start();
    primary.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'");
    primary.psql("postgres", "SELECT pg_reload_conf()");
    let both = format!("localhost:{},localhost:{}", primary.port, replica.port);
    let url = primary.url_at(&both, "postgres", PASSWORD, "ops") + "&target_session_attrs=read-write";
    let is_synchronous = || primary.psql("postgres", "SELECT sync_state FROM pg_stat_replication") == "sync";
    let started = Instant::now();
    while !is_synchronous() {
        assert!(started.elapsed() < Duration::from_mins(1), "the replica does not follow");
        std::thread::sleep(Duration::from_millis(50));
    }
    let primary = Mutex::new(primary);
    let outage = |agents: &[Agent]| {
        primary.lock().unwrap().end(Signal::KILL);
        some_actions(agents, 2);
        replica.promote();
        some_recorded(agents, 5);
    };
    agents_lose_nothing(&url, outage, |query| replica.psql("ops", query));
}

#[test]
fn a_frozen_server_delays_no_hook_beyond_the_deadline() {
    for (on_failure, code) in [("open", 0), ("closed", 2)] {
        let mut server = DatabaseServer::created();
        let agent = Agent::new("nas", &own(&mut server));
        agent.sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
        agent.act();
        server.signal(Signal::STOP);
        for (event, code) in
            [("pre-tool-use", code), ("post-tool-use", 0), ("session-end", 0), ("session-start", 0)]
        {
            let input = call("t1", "docker restart jellyfin").to_string();
            let (run, took) = timed(agent.sandbox.command(&["hook", event]), input.as_bytes());
            println!("{on_failure}, {event}: {took:?}");
            assert_eq!(run.code, Some(code), "{event}: {run:?}");
            assert!(took < DEADLINE, "{event}: {took:?}: {run:?}");
        }
        // Ten at once do not wait for each other.
        std::thread::scope(|scope| {
            for n in 0..10 {
                let agent = &agent;
                scope.spawn(move || {
                    let input = call(&format!("u{n}"), "docker restart jellyfin").to_string();
                    let hook = agent.sandbox.command(&["hook", "pre-tool-use"]);
                    let (run, took) = timed(hook, input.as_bytes());
                    assert_eq!(run.code, Some(if on_failure == "open" { 0 } else { 2 }), "{run:?}");
                    assert!(took < DEADLINE, "{took:?}: {run:?}");
                });
            }
        });
        server.signal(Signal::CONT);
        agent.act();
        assert!(!agent.work.lock().unwrap().ran[1].complained);
    }
}
