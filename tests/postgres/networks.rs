//! Agents on machines of their own: other networks, other clocks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use chrono::{TimeDelta, Utc};

use crate::at_once::{PROCESSES, allowed_at_once};
use crate::database_server::{DatabaseServer, PASSWORD};
use crate::sandbox::{Sandbox, on_file, through};
use crate::support::{Lan, lan};

/// A server in a network with two machines, 10.0.1.2 and 10.0.2.2.
fn server_between_two_machines(lan: &Lan) -> DatabaseServer {
    lan.peer(1, "");
    lan.peer(2, "");
    let mut server = DatabaseServer::created();
    server.configure("fsync = off\nmax_connections = 300\n");
    server.open_to_networks();
    server.start();
    server
}

/// The state of an agent on machine `n`, which has only the address of the server there.
fn agent(server: &DatabaseServer, n: u8, on_failure: &str) -> on_file::Sandbox {
    let at = format!("10.0.{n}.1:{}", server.port);
    let agent = on_file::Sandbox::new()
        .with("CLAUDEOPS_DB_URL", &server.url_at(&at, "postgres", PASSWORD, "ops"))
        .with("CLAUDEOPS_AGENT", &format!("machine{n}"));
    agent.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
    agent
}

/// The same program on machine `n`.
fn on_machine(lan: &Lan, n: u8, program: &Command) -> Command {
    let pid = std::fs::read_to_string(lan.path(&format!("peer{n}.pid"))).unwrap();
    through(&["nsenter", "--target", pid.trim(), "--net", "--"], program)
}

#[test]
fn two_hundred_hooks_of_two_machines_take_two_places() {
    for on_failure in ["open", "closed"] {
        lan(|lan| {
            let server = server_between_two_machines(lan);
            server.database("ops");
            let agents = [1, 2].map(|n| agent(&server, n, on_failure));
            let hooks = (0..PROCESSES).map(|n| {
                let machine = n % 2;
                let hook = agents[machine].command(&["hook", "pre-tool-use"]);
                on_machine(lan, u8::try_from(machine + 1).unwrap(), &hook)
            });
            let allowed = allowed_at_once(hooks.collect(), |_| "jellyfin".to_owned());
            assert_eq!(allowed, BTreeMap::from([("jellyfin".to_owned(), 2)]), "{on_failure}");
            let count = |query: &str| server.psql("ops", query);
            assert_eq!(count("SELECT count(*) FROM hook_actions WHERE state = 'reserved'"), "2");
            let verdicts = "SELECT agent, verdict, count(*) FROM hook_decisions WHERE verdict = 'deny' GROUP BY 1, 2 ORDER BY 1";
            let denied: Vec<u32> = count(verdicts)
                .lines()
                .map(|line| line.rsplit('|').next().unwrap().parse().unwrap())
                .collect();
            assert_eq!(
                (denied.len(), denied.iter().sum::<u32>()),
                (2, 198),
                "{}\n{}",
                count(verdicts),
                server.log()
            );
        });
    }
}

/// A server that nothing is heard of: a firewall drops its packets.
#[test]
fn a_server_behind_a_firewall_that_drops_packets_delays_no_hook_beyond_the_deadline() {
    for (on_failure, code) in [("open", 0), ("closed", 2)] {
        lan(|lan| {
            let server = server_between_two_machines(lan);
            server.database("ops");
            let agent = agent(&server, 1, on_failure);
            let hook = |event: &str, id: &str| {
                let input = crate::sandbox::call(id, "docker restart jellyfin").to_string();
                on_file::timed(on_machine(lan, 1, &agent.command(&["hook", event])), input.as_bytes())
            };
            assert_eq!(hook("pre-tool-use", "t1").0.code, Some(0));
            lan.sh("iptables -I INPUT -p tcp -j DROP");
            let (run, took) = hook("pre-tool-use", "t2");
            assert_eq!(run.code, Some(code), "{run:?}");
            assert!(run.stderr.contains("did not answer") || run.stderr.contains("timed out"), "{run:?}");
            assert!(took < crate::outages::DEADLINE, "{took:?}");
            let (run, took) = hook("post-tool-use", "t2");
            assert_eq!(run.code, Some(0), "{run:?}");
            assert!(took < crate::outages::DEADLINE, "{took:?}");
            lan.sh("iptables -D INPUT -p tcp -j DROP");
            assert_eq!(hook("post-tool-use", "t1").0.code, Some(0));
            println!("{on_failure}: {took:?}");
        });
    }
}

/// The library that shows a program another time.
fn other_clock() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").unwrap().map(|folder| folder.unwrap().path());
    let found = folders.map(|folder| folder.join("faketime/libfaketime.so.1")).find(|file| file.exists());
    found.expect("faketime is missing: run tests/postgres/setup")
}

#[test]
fn agents_whose_clocks_differ_by_hours_agree_on_the_window() {
    let ledger = Sandbox::new();
    let url = ledger.variable("CLAUDEOPS_DB_URL").unwrap();
    let agents = [("ahead", "+1h", 1), ("behind", "-1h", -1)].map(|(name, shift, hours)| {
        let agent = on_file::Sandbox::new()
            .with("CLAUDEOPS_DB_URL", url.to_str().unwrap())
            .with("CLAUDEOPS_AGENT", name)
            .with("LD_PRELOAD", other_clock().to_str().unwrap())
            .with("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .with("FAKETIME", shift);
        // Otherwise this test shows nothing.
        let date = agent.in_place_of("/bin/date".as_ref(), &["+%s"], b"");
        let shifted = date.stdout.trim().parse::<i64>().unwrap() - Utc::now().timestamp();
        assert!((shifted - hours * 3600).abs() < 60, "{name}: {shifted}");
        agent
    });
    let restart = "docker restart jellyfin";
    for (agent, id) in agents.iter().zip(["t1", "t2"]) {
        crate::sandbox::passes(&agent.before(id, restart));
        crate::sandbox::passes(&agent.after(id, restart));
    }
    let reasons = [0, 1].map(|n: usize| crate::sandbox::denied(&agents[n].before("t3", restart)));
    assert_eq!(reasons[0], reasons[1]);
    let until = reasons[0].split("Next allowed at ").nth(1).unwrap().trim_end_matches('.');
    let until: chrono::DateTime<Utc> = until.lines().next().unwrap().trim_end_matches('.').parse().unwrap();
    let left = until - Utc::now();
    assert!(left > TimeDelta::minutes(235) && left <= TimeDelta::hours(4), "{reasons:?}");
    for at in ledger.sql("SELECT timestamp FROM cooldown_actions").lines() {
        let age = Utc::now() - at.parse::<chrono::DateTime<Utc>>().unwrap();
        assert!(age.abs() < TimeDelta::minutes(5), "{at}");
    }
    // Four hours later by the clock of the server, by which nothing of this machine has changed.
    ledger.set_clock_of_ledger(Utc::now() + TimeDelta::hours(4));
    for agent in &agents {
        crate::sandbox::passes(&agent.before("t4", restart));
    }
    assert!(crate::sandbox::denied(&agents[1].before("t5", restart)).contains("2/2 restarts"));
}
