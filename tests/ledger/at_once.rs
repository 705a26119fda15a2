//! Concurrent processes.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use crate::ROUNDS_AT_ONCE;
use crate::sandbox::{Sandbox, call};

pub const PROCESSES: usize = 200;

pub fn ask_at_once(sandbox: &Sandbox, service_of: impl Fn(usize) -> String) -> BTreeMap<String, usize> {
    let hooks = (0..PROCESSES).map(|_| sandbox.command(&["hook", "pre-tool-use"])).collect();
    let allowed = allowed_at_once(hooks, service_of);
    sandbox.assert_intact();
    allowed
}

/// Starts all hooks before any of them gets its input, so that they run concurrently. Returns the number of allowed calls of
/// each service.
pub fn allowed_at_once(hooks: Vec<Command>, service_of: impl Fn(usize) -> String) -> BTreeMap<String, usize> {
    let ready = std::sync::Barrier::new(hooks.len());
    let children: Vec<Child> = hooks
        .into_iter()
        .map(|mut hook| {
            hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut allowed = BTreeMap::new();
    let answers = std::thread::scope(|scope| {
        let waiting: Vec<_> = children
            .into_iter()
            .enumerate()
            .map(|(n, mut child)| {
                let (ready, service) = (&ready, service_of(n));
                scope.spawn(move || {
                    let input = call(&format!("t{n}"), &format!("docker restart {service}")).to_string();
                    let mut stdin = child.stdin.take().unwrap();
                    ready.wait();
                    std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap();
                    drop(stdin);
                    (service, child.wait_with_output().unwrap())
                })
            })
            .collect();
        waiting.into_iter().map(|answer| answer.join().unwrap()).collect::<Vec<_>>()
    });
    for (service, answer) in answers {
        let stderr = String::from_utf8(answer.stderr).unwrap();
        assert!(!stderr.contains("locked") && !stderr.contains("cannot be used"), "{stderr}");
        match answer.status.code() {
            Some(0) => *allowed.entry(service).or_insert(0) += 1,
            Some(2) => assert!(stderr.starts_with("Cooldown limit exceeded for"), "{stderr}"),
            other => panic!("{other:?}: {stderr}"),
        }
    }
    allowed
}

#[test]
fn two_hundred_concurrent_calls_take_two_places_in_every_round() {
    for round in 0..ROUNDS_AT_ONCE {
        let sandbox = Sandbox::new();
        let allowed = ask_at_once(&sandbox, |_| "jellyfin".to_owned());
        assert_eq!(allowed, BTreeMap::from([("jellyfin".to_owned(), 2)]), "round {round}");
        assert_eq!(sandbox.sql("SELECT count(*) FROM hook_actions WHERE state = 'reserved'"), "2");
        assert_eq!(sandbox.sql("SELECT count(*) FROM hook_decisions WHERE verdict = 'deny'"), "198");
    }
}

#[test]
fn two_hundred_calls_for_fifty_services_take_two_places_each() {
    let sandbox = Sandbox::new();
    let allowed = ask_at_once(&sandbox, |n| format!("service{}", n % 50));
    assert_eq!(allowed.len(), 50);
    assert!(allowed.values().all(|places| *places == 2), "{allowed:?}");
    assert_eq!(sandbox.sql("SELECT count(*), count(DISTINCT service) FROM hook_actions"), "100|50");
}
