//! The guard that is an engine gate, too: hooks beside requests to the engine.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::fake_engine::FakeEngine;
use crate::sandbox::{Sandbox, denied, passes};

/// A guard that is killed at the end of the test.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(path: &std::path::Path) {
    let began = Instant::now();
    while UnixStream::connect(path).is_err() {
        assert!(began.elapsed() < Duration::from_secs(20), "nothing listens at {}", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn hooks_are_judged_and_counted_while_the_gate_redacts_large_answers() {
    let guard = Sandbox::new();
    guard.write("hosts.yaml", "services: {jellyfin: {}}\n");
    let _engine = FakeEngine::listen(guard.path("engine.sock"), &["k0".to_owned()]);
    let [socket, gate, engine] = ["guard.sock", "gate.sock", "engine.sock"].map(|name| guard.path(name));
    let mut command = guard.command(&["serve"]);
    command.arg("--socket").arg(&socket).arg("--engine-gate").arg(&gate).arg("--engine").arg(engine);
    let _guard = Guard(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    wait_for(&socket);
    wait_for(&gate);
    let agent = Sandbox::new()
        .with("CLAUDEOPS_GUARD", &format!("unix:{}", socket.display()))
        .with("CLAUDEOPS_TIER", "2");
    let inspect = || {
        let mut stream = UnixStream::connect(&gate).unwrap();
        let request = "GET /v1.41/images/long:1/json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).contains(" 200 ")
    };
    let (runs, slowest) = std::thread::scope(|scope| {
        let inspects: Vec<_> = (0..8).map(|_| scope.spawn(inspect)).collect();
        let mut runs = vec![];
        let mut slowest = Duration::ZERO;
        while inspects.iter().any(|inspect| !inspect.is_finished()) || runs.len() < 3 {
            let start = Instant::now();
            runs.push(agent.before(&format!("t{}", runs.len()), "docker restart jellyfin"));
            slowest = slowest.max(start.elapsed());
        }
        assert!(inspects.into_iter().all(|inspect| inspect.join().unwrap()));
        (runs, slowest)
    });
    for (count, run) in runs.iter().enumerate() {
        if count < 2 {
            passes(run);
        } else {
            assert!(denied(run).contains("Cooldown limit"), "{run:?}");
        }
    }
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}
