//! The engine of a host, to which a client connects as docker does with `DOCKER_HOST=ssh://HOST`.

use std::io::Write as _;
use std::process::Stdio;

use crate::fake_engine::{FakeEngine, id_of};
use crate::lab::Place;

/// What the gate answers to these bytes on one connection.
fn answer(place: &Place, requests: &str) -> String {
    let mut command = place.command("ssh -o ConnectTimeout=30 -T -- ie01 docker system dial-stdio");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(requests.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn post(path: &str) -> String {
    format!("POST /v1.41/containers/{path} HTTP/1.1\r\nHost: d\r\nContent-Length: 0\r\n\r\n")
}

#[test]
fn each_request_to_the_engine_of_a_host_is_judged_as_a_command_there() {
    let place = Place::at_tier(3, "policy: {tier: 3}\n");
    let (docker, socket) = (place.path("bin/docker"), place.path("engine.sock"));
    let own = std::fs::read_to_string(&docker).unwrap();
    let dials = format!("[ \"$1 $2\" = 'system dial-stdio' ] && exec nc -U {}", socket.display());
    std::fs::write(&docker, own.replacen('\n', &format!("\n{dials}\n"), 1)).unwrap();
    let engine = FakeEngine::listen(socket, &["jellyfin", "other"].map(str::to_owned));
    let restart = format!("/{}/restart", id_of("jellyfin"));

    assert!(answer(&place, "GET /_ping HTTP/1.1\r\nHost: d\r\n\r\n").starts_with("HTTP/1.1 200 "));
    // A restart by command and two through the engine, of which the second is one too many.
    assert_eq!(place.said("ssh ie01 docker restart jellyfin").0, Some(0));
    let two = answer(&place, &format!("{}{}", post("jellyfin/restart"), post("%6aellyfin/restart")));
    assert_eq!(two.matches("HTTP/1.1 204 ").count(), 1, "{two}");
    assert!(two.contains("403 ") && two.contains("limit exceeded for jellyfin"), "{two}");
    assert_eq!((engine.count("POST", &restart), place.ran().matches("restart").count()), (1, 1));
    // The same through a command of this host's budget.
    assert_ne!(place.said("ssh ie01 docker restart jellyfin").0, Some(0));
    // What the policy always denies.
    let removal = "DELETE /v1.41/volumes/media HTTP/1.1\r\nHost: d\r\n\r\n";
    assert!(answer(&place, removal).starts_with("HTTP/1.1 403 "));
}
