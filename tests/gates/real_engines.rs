//! Real engines and clients: `tests/image/gate` starts the engines, and calls these tests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::fake_engine::Gated;
use crate::sandbox::Sandbox;

/// The sockets of the engines, in the folder that `OPSCTL_TEST_ENGINES` names.
fn engines() -> Vec<PathBuf> {
    let folder =
        std::env::var_os("OPSCTL_TEST_ENGINES").expect("set OPSCTL_TEST_ENGINES: tests/image/gate does");
    let found = ["docker.sock", "podman.sock"].map(|name| Path::new(&folder).join(name));
    found.into_iter().filter(|socket| socket.exists()).collect()
}

/// The exit code and the output of a client.
fn client(socket: &Path, words: &[&str], stdin: &str) -> (Option<i32>, String) {
    let url = format!("unix://{}", socket.display());
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "60"]).args(words).env("DOCKER_HOST", &url).env("CONTAINER_HOST", &url);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

fn works(socket: &Path, words: &[&str], stdin: &str) -> String {
    let (code, text) = client(socket, words, stdin);
    assert_eq!(code, Some(0), "{words:?}: {text}");
    text
}

/// A container that sleeps, started anew without the gate.
fn container(engine: &Path, name: &str, options: &[&str]) -> String {
    client(engine, &["docker", "rm", "-f", name], "");
    let words = ["docker", "run", "-d", "--name", name, "--network", "none", "--stop-timeout", "0"];
    works(engine, &[&words, options, &["base:1", "sleep", "1000"]].concat(), "");
    works(engine, &["docker", "inspect", "-f", "{{.Id}}", name], "").trim().to_owned()
}

fn started(engine: &Path, name: &str) -> String {
    works(engine, &["docker", "inspect", "-f", "{{.State.StartedAt}}", name], "")
}

#[test]
#[ignore = "needs engines: tests/image/gate"]
fn real_clients_restart_a_service_twice() {
    for engine in engines() {
        let id = container(&engine, "media_database", &["-e", "DB_PASSWORD=hunter2hunter2"]);
        let gated = Gated::before(Sandbox::new(), &engine, 2, &[]);
        let gate = gated.socket();
        works(&gate, &["docker", "restart", "-t", "0", "media_database"], "");
        works(&gate, &["docker", "restart", "-t", "0", &id[..6]], "");
        let before = started(&engine, "media_database");
        let sdk = "import docker; docker.from_env().containers.get('media_database').restart(timeout=0)";
        let curl = "http://x/v1.41/containers/%6dedia_database/restart?t=0";
        let mut clients = vec![
            vec!["docker", "restart", "media_database"],
            vec!["docker", "restart", &id],
            vec!["docker", "stop", &id[..12]],
            vec!["docker", "kill", "media_database"],
            vec!["docker", "rm", "-f", "media_database"],
            vec!["python3", "-c", sdk],
        ];
        if engine.ends_with("podman.sock") {
            clients.push(vec!["podman", "--remote", "restart", "media_database"]);
            clients.push(vec!["podman", "--remote", "rm", "-f", "media_database"]);
        }
        for words in clients {
            let (code, text) = client(&gate, &words, "");
            assert!(
                code != Some(0) && text.contains("Cooldown limit exceeded for database: 2/2"),
                "{words:?}: {text}"
            );
        }
        let path = gate.to_str().unwrap();
        let text = works(&gate, &["curl", "-s", "--unix-socket", path, "-X", "POST", curl], "");
        assert!(text.contains("Cooldown limit exceeded"), "{text}");
        assert_eq!(started(&engine, "media_database"), before);
        let text = works(&gate, &["docker", "inspect", "media_database"], "");
        assert!(text.contains("DB_PASSWORD=[redacted]") && !text.contains("hunter2"), "{text}");
        assert_eq!(works(&gate, &["docker", "exec", "media_database", "echo", "hello"], ""), "hello\n");
        assert_eq!(works(&gate, &["docker", "exec", "-i", "media_database", "cat"], "a\nb\n"), "a\nb\n");
        let (_, text) = client(&gate, &["docker", "exec", "media_database", "sh", "-c", "rm -rf /data"], "");
        assert!(text.contains("rule data"), "{text}");
        for options in
            [vec!["--privileged"], vec!["-v", "/:/host"], vec!["--pid", "host"], vec!["--network", "host"]]
        {
            let words = [&["docker", "run", "--rm"], options.as_slice(), &["base:1", "ls"]].concat();
            let (code, text) = client(&gate, &words, "");
            assert!(code == Some(125) && text.contains("rights of the host"), "{words:?}: {text}");
        }
        let run = ["docker", "run", "--rm", "--network", "none", "base:1", "echo", "hello"];
        assert_eq!(works(&gate, &run, ""), "hello\n");
        if engine.ends_with("podman.sock") {
            let words = ["podman", "--remote", "exec", "media_database", "echo", "hello"];
            assert_eq!(works(&gate, &words, ""), "hello\n");
            let text = works(&gate, &[&["podman", "--remote"], &run[1..]].concat(), "");
            assert!(text.starts_with("hello\n"), "{text}");
        }
    }
}

#[test]
#[ignore = "needs engines: tests/image/gate"]
fn recreation_by_compose_counts_once() {
    for engine in engines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("compose.yaml");
        let service = "{image: 'base:1', command: sleep 1000, network_mode: none, stop_grace_period: 0s, volumes: ['/tmp:/x']}";
        std::fs::write(&file, format!("name: gatetest\nservices:\n  jellyfin: {service}\n")).unwrap();
        let compose = ["docker", "compose", "-f", file.to_str().unwrap()];
        let words = |more: &[&'static str]| [&compose, more].concat();
        client(&engine, &words(&["down", "-t", "0"]), "");
        works(&engine, &words(&["up", "-d"]), "");
        let gated = Gated::before(Sandbox::new(), &engine, 2, &[]);
        let gate = gated.socket();
        for _ in 0..2 {
            works(&gate, &words(&["up", "-d", "--force-recreate"]), "");
        }
        assert_eq!(works(&engine, &words(&["ps", "-q"]), "").lines().count(), 1);
        for more in [vec!["restart"], vec!["up", "-d", "--force-recreate"], vec!["stop"], vec!["down"]] {
            let (code, text) = client(&gate, &words(&more), "");
            assert!(
                code != Some(0) && text.contains("Cooldown limit exceeded for jellyfin: 2/2"),
                "{more:?}: {text}"
            );
        }
        let counted = gated.sandbox.sql("SELECT count(*) FROM cooldown_actions WHERE service = 'jellyfin'");
        assert!(counted.parse::<u32>().unwrap() >= 2, "{counted}");
        client(&engine, &words(&["down", "-t", "0"]), "");
    }
}

#[test]
#[ignore = "needs engines: tests/image/gate"]
fn two_hundred_clients_of_an_engine_make_two_restarts() {
    for engine in engines() {
        container(&engine, "media_database", &[]);
        let gated = Gated::before(Sandbox::new(), &engine, 2, &[]);
        let since =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().to_string();
        let barrier = Barrier::new(200);
        let passed = std::thread::scope(|scope| {
            let ask = || {
                barrier.wait();
                gated.ask("POST", "/v1.41/containers/media_database/restart?t=0", "").0
            };
            let clients: Vec<_> = (0..200).map(|_| scope.spawn(ask)).collect();
            // An engine may fail at one of two restarts at once.
            clients.into_iter().map(|client| client.join().unwrap()).filter(|status| *status != 403).count()
        });
        assert_eq!(passed, 2);
        let until = (since.parse::<u64>().unwrap() + 60).to_string();
        std::thread::sleep(Duration::from_millis(500));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 1;
        let now = now.min(until.parse().unwrap()).to_string();
        let events = ["docker", "events", "--since", &since, "--until", &now, "--filter", "event=restart"];
        // Two restarts at once may be one for an engine.
        assert!((1..=2).contains(&works(&engine, &events, "").lines().count()));
    }
}

#[test]
#[ignore = "needs engines: tests/image/gate"]
fn streams_of_an_engine_stay_open_and_end_with_the_gate() {
    for engine in engines() {
        container(&engine, "k0", &[]);
        let mut gated = Gated::before(Sandbox::new(), &engine, 2, &[]);
        let url = format!("unix://{}", gated.socket().display());
        let stream = |words: &[&str]| {
            let mut command = Command::new("docker");
            command
                .args(words)
                .env("DOCKER_HOST", &url)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            command.spawn().unwrap()
        };
        let mut all =
            [stream(&["events"]), stream(&["logs", "-f", "k0"]), stream(&["exec", "k0", "sleep", "900"])];
        std::thread::sleep(Duration::from_secs(3));
        assert!(all.iter_mut().all(|child| child.try_wait().unwrap().is_none()), "a stream has ended");
        works(&engine, &["docker", "pause", "k0"], "");
        works(&engine, &["docker", "unpause", "k0"], "");
        let mut line = String::new();
        BufReader::new(all[0].stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("container"), "{line}");
        assert_eq!(gated.end(), Some(0));
        let began = Instant::now();
        for child in &mut all {
            while child.try_wait().unwrap().is_none() {
                assert!(began.elapsed() < Duration::from_secs(5), "a stream is still open");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

#[test]
#[ignore = "needs engines: tests/image/gate"]
fn streams_and_calls_cost_little() {
    for engine in engines() {
        container(&engine, "k0", &[]);
        let gated = Gated::before(Sandbox::new(), &engine, 2, &[]);
        let gate = gated.socket();
        let streams: Vec<_> = (0..200)
            .map(|_| {
                let mut stream = gated.connect();
                stream.write_all(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
                stream
            })
            .collect();
        std::thread::sleep(Duration::from_secs(1));
        let status = std::fs::read_to_string(format!("/proc/{}/status", gated.pid())).unwrap();
        let kib = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        println!(
            "{}: {} KiB with {} streams, of which {} KiB are code",
            engine.display(),
            kib("VmRSS"),
            streams.len(),
            kib("RssFile")
        );
        assert!(kib("RssAnon") < 40 * 1024);
        drop(streams);
        let python = "import http.client,socket,sys,time\n\
            class C(http.client.HTTPConnection):\n    def connect(self):\n        self.sock=socket.socket(socket.AF_UNIX); self.sock.connect(sys.argv[1])\n\
            c=C('x'); t=[]\n\
            for i in range(300):\n    b=time.perf_counter(); c.request('GET','/v1.41/containers/k0/json'); c.getresponse().read(); t.append(time.perf_counter()-b)\n\
            t.sort(); print(t[150]*1000)";
        let median = |socket: &Path| {
            let text = works(socket, &["python3", "-c", python, socket.to_str().unwrap()], "");
            text.trim().parse::<f64>().unwrap()
        };
        println!(
            "{}: inspect {} ms, through the gate {} ms",
            engine.display(),
            median(&engine),
            median(&gate)
        );
        let bulk = |socket: &Path| {
            let began = Instant::now();
            let command = "docker exec k0 dd if=/dev/zero bs=1M count=1024 2>/dev/null | wc -c";
            let text = works(socket, &["sh", "-c", command], "");
            assert_eq!(text.trim(), "1073741824");
            began.elapsed()
        };
        println!("{}: 1 GiB {:?}, through the gate {:?}", engine.display(), bulk(&engine), bulk(&gate));
    }
}
