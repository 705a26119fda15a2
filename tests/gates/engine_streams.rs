//! The gate before container engines: what clients write to commands and containers, and how much the gate holds.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use crate::fake_engine::Gated;

fn exec(gated: &Gated, body: &str) -> (u16, String) {
    gated.ask("POST", "/v1.41/containers/k1/exec", body)
}

#[test]
fn a_command_gets_no_keys_of_a_terminal() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    for program in ["less", "screen", "top"] {
        let body = format!(r#"{{"Cmd":["{program}"],"AttachStdin":true,"AttachStdout":true,"Tty":true}}"#);
        let (status, answer) = exec(&gated, &body);
        assert!(status == 403 && answer.contains("terminal"), "{program}: {status} {answer}");
    }
    assert_eq!(engine.count("POST", "/exec"), 0);
    for body in [r#"{"Cmd":["ls"],"Tty":true}"#, r#"{"Cmd":["sort"],"AttachStdin":true,"Tty":false}"#] {
        let (status, answer) = exec(&gated, body);
        assert_eq!(status, 201, "{body}: {answer}");
    }
}

#[test]
fn commands_that_depend_on_their_input_get_none() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let words = |command: &str| {
        let words: Vec<String> = command.split(' ').map(|word| format!("\"{word}\"")).collect();
        words.join(",")
    };
    for command in [
        "tar cT -",
        "xargs cat",
        "xargs find",
        "xargs fd",
        "xargs rg x",
        "xargs tee",
        "xargs -a /tmp/x ls",
        "cpio -o",
        "wc --files0-from=-",
        "psql",
        "sqlite3",
        "python3 -",
        "env xargs ls",
        "mail -I root",
    ] {
        let (status, answer) = exec(&gated, &format!(r#"{{"Cmd":[{}],"AttachStdin":true}}"#, words(command)));
        assert_eq!(status, 403, "{command}: {answer}");
    }
    let create = r#"{"Image":"base:1","Cmd":["xargs","find"],"OpenStdin":true}"#;
    let (status, answer) = gated.ask("POST", "/v1.41/containers/create", create);
    assert_eq!(status, 403, "{answer}");
    assert_eq!(engine.count("POST", "/exec") + engine.count("POST", "/create"), 0);
    for command in ["sort", "cat", "wc -l", "grep x", "tar tf -", "head -5"] {
        let (status, answer) = exec(&gated, &format!(r#"{{"Cmd":[{}],"AttachStdin":true}}"#, words(command)));
        assert_eq!(status, 201, "{command}: {answer}");
    }
    // Without input, they have nothing to depend on.
    assert_eq!(exec(&gated, r#"{"Cmd":["xargs","ls"]}"#).0, 201);
}

/// Connects to the streams of a container, and writes to it: the head of the answer, and what comes back.
fn attach(gated: &Gated, target: &str) -> (String, String) {
    let mut stream = gated.connect();
    let head = format!("POST {target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut head = vec![0; 4096];
    let read = stream.read(&mut head).unwrap();
    let head = String::from_utf8_lossy(&head[..read]).into_owned();
    let _ = stream.write_all(b"written by the client");
    let _ = stream.shutdown(Shutdown::Write);
    let mut back = String::new();
    let _ = stream.read_to_string(&mut back);
    (head, back)
}

#[test]
fn a_connection_that_reads_a_container_writes_nothing_to_it() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    for target in [
        "/v4.3.1/libpod/containers/k1/attach?stdout=1&stream=1",
        "/v4.3.1/libpod/containers/k1/attach?stdout=1&stream=1&stdin=",
        "/v4.3.1/libpod/containers/k1/attach?stdout=1&stream=1&stdin=true",
        "/v1.41/containers/k1/attach?stdout=1&stream=1&stdin=1",
    ] {
        let (head, _) = attach(&gated, target);
        assert!(head.starts_with("HTTP/1.1 403"), "{target}: {head}");
    }
    assert_eq!(engine.count("POST", "/attach"), 0);
    for target in [
        "/v4.3.1/libpod/containers/k1/attach?stdout=1&stream=1&stdin=false",
        "/v4.3.1/libpod/containers/k1/attach?stdout=1&stream=1&stdin=0",
        "/v1.41/containers/k1/attach?stdout=1&stream=1",
    ] {
        let (head, back) = attach(&gated, target);
        assert!(head.starts_with("HTTP/1.1 101") && back.is_empty(), "{target}: {head} {back}");
        let sent = engine.received.lock().unwrap().last().unwrap().target.clone();
        assert!(sent.contains("stdin=false") && sent.contains("stdout=true"), "{sent}");
    }
}

#[test]
fn bodies_share_one_budget_and_one_user_leaves_connections_to_others() {
    let (gated, _engine) = Gated::before_fake(2, &[]);
    let (length, held) = (1_000_000, 30);
    let request =
        format!("POST /v1.41/containers/create HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    let mut streams: Vec<_> = (0..held).map(|_| gated.connect()).collect();
    for stream in &mut streams {
        stream.write_all(request.as_bytes()).unwrap();
        // A gate that refuses it closes the connection.
        let _ = stream.write_all(&vec![b' '; length - 1]);
    }
    let refused = streams.iter_mut().filter_map(|stream| {
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut answer = [0; 64];
        match stream.read(&mut answer) {
            Ok(read) => Some(String::from_utf8_lossy(&answer[..read]).into_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
            // It was refused, and has not read all.
            Err(_) => Some(String::new()),
        }
    });
    let refused: Vec<String> = refused.collect();
    assert!(refused.len() >= 10, "{refused:?}");
    assert!(
        refused.iter().all(|answer| answer.is_empty() || answer.starts_with("HTTP/1.1 503")),
        "{refused:?}"
    );
    let began = Instant::now();
    assert_eq!(gated.ask("GET", "/v1.41/_ping", "").0, 200);
    assert!(began.elapsed() < Duration::from_secs(5));
    drop(streams);
    let many: Vec<_> = (0..300).map(|_| gated.connect()).collect();
    std::thread::sleep(Duration::from_millis(300));
    let open = many.iter().filter(|stream| {
        stream.set_nonblocking(true).unwrap();
        !matches!((&**stream).read(&mut [0]), Ok(0))
    });
    let open = open.count();
    assert!((200..=256).contains(&open), "{open} connections are open");
}
