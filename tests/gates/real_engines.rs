//! Real engines and clients: `tests/image/gate` starts the engines, and calls these tests.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fake_engine::Gated;
use crate::sandbox::Sandbox;
use crate::spellings::{Client, Random, case, creation, has_rights};

/// The folder of the engines.
fn folder() -> PathBuf {
    std::env::var_os("OPSCTL_TEST_ENGINES").expect("set OPSCTL_TEST_ENGINES: tests/image/gate does").into()
}

/// The sockets of the engines.
fn engines() -> Vec<PathBuf> {
    let found = ["docker.sock", "podman.sock"].map(|name| folder().join(name));
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
fn volumes_of_an_engine_are_judged_as_the_folders_that_they_are() {
    for engine in engines() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "of the host\n").unwrap();
        let volume = |name: &str, kind: &str, options: &str, device: &str| {
            let [kind, options, device] = [("type", kind), ("o", options), ("device", device)]
                .map(|(key, value)| format!("{key}={value}"));
            client(&engine, &["docker", "rm", "-f", &format!("has-{name}")], "");
            client(&engine, &["docker", "volume", "rm", "-f", name], "");
            let words =
                ["docker", "volume", "create", "--opt", &kind, "--opt", &options, "--opt", &device, name];
            works(&engine, &words, "");
            container(&engine, &format!("has-{name}"), &["-v", &format!("{name}:/x")]);
        };
        volume("bound", "none", "bind", folder.path().to_str().unwrap());
        volume("running", "none", "bind", "/run");
        volume("memory", "tmpfs", "mode=755", "tmpfs");
        container(&engine, "has-plain", &["-v", "plain:/x"]);
        let gated = Gated::before(Sandbox::new(), &engine, 1, &[]);
        gated.policy(&format!("secret: ['{}/**']", folder.path().display()));
        let gate = gated.socket();
        let exec =
            |name: &str, words: &[&str]| client(&gate, &[&["docker", "exec", name], words].concat(), "");
        let (code, text) = exec("has-bound", &["cat", "/x/a.txt"]);
        assert!(code != Some(0) && text.contains("Secret"), "{text}");
        let (code, text) = client(&gate, &["docker", "cp", "has-bound:/x/a.txt", "-"], "");
        assert!(code != Some(0) && text.contains("Secret"), "{text}");
        let (code, text) = exec("has-running", &["ls", "/"]);
        assert!(code != Some(0) && text.contains("container engine"), "{text}");
        for name in ["has-memory", "has-plain", "has-bound"] {
            let (code, text) = exec(name, &["ls", "/bin"]);
            assert!(code == Some(0) && text.contains("busybox"), "{name}: {text}");
        }
        for name in ["bound", "running", "memory", "plain"] {
            client(&engine, &["docker", "rm", "-f", &format!("has-{name}")], "");
            client(&engine, &["docker", "volume", "rm", "-f", name], "");
        }
    }
}

#[test]
#[ignore = "needs engines: tests/image/gate"]
fn twin_of_a_container_of_an_engine_does_not_run_beside_it() {
    for engine in engines() {
        let id = container(&engine, "jellyfin", &["-v", "films:/films"]);
        let gated = Gated::before(Sandbox::new(), &engine, 2, &[]);
        let body = r#"{"Image":"base:1","Cmd":["sleep","1000"],"StopTimeout":0,"HostConfig":{"NetworkMode":"none","Binds":["films:/films"]}}"#;
        let target = format!("/v1.41/containers/create?name={}_jellyfin", &id[..12]);
        let (status, answer) = gated.ask("POST", &target, body);
        assert_eq!(status, 201, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let twin = answer["Id"].as_str().unwrap();
        let ask = |method: &str, name: &str, action: &str, body: &str| {
            gated.ask(method, &format!("/v1.41/containers/{name}{action}"), body)
        };
        for (action, body) in [("/start", ""), ("/restart", ""), ("/exec", r#"{"Cmd":["ls"]}"#)] {
            let (status, answer) = ask("POST", twin, action, body);
            assert!(status == 403 && answer.contains("run beside it"), "{action}: {status} {answer}");
        }
        let running = |name: &str| {
            works(&engine, &["docker", "inspect", "-f", "{{.State.Running}}", name], "").trim() == "true"
        };
        assert!(running("jellyfin") && !running(twin));
        for (method, name, action) in [
            ("DELETE", "jellyfin", "?force=1"),
            ("POST", twin, "/rename?name=jellyfin"),
            ("POST", "jellyfin", "/start"),
        ] {
            let (status, answer) = ask(method, name, action, "");
            assert_eq!(status, 204, "{method} {action}: {answer}");
        }
        assert!(running(twin));
        let counted = gated.sandbox.sql("SELECT count(*) FROM cooldown_actions WHERE service = 'jellyfin'");
        assert_ne!(counted, "0");
        client(&engine, &["docker", "rm", "-f", "jellyfin"], "");
        client(&engine, &["docker", "volume", "rm", "-f", "films"], "");
    }
}

/// Further settings of a service of compose, after its first volume.
const FURTHER: &str = ", 'data:/data', '/anonymous'], environment: {A: b}, labels: {a: b}, user: '0', working_dir: /bin, \
    restart: always, read_only: true, tmpfs: [/t], cap_drop: [CHOWN], security_opt: ['no-new-privileges:true'], \
    extra_hosts: ['a:10.0.0.9'], shm_size: 8m, tty: true";

#[test]
#[ignore = "needs engines: tests/image/gate"]
fn recreation_by_compose_counts_once() {
    for engine in engines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("compose.yaml");
        // Podman states some of the further settings in other forms: with them, it is a redeployment.
        let more = if engine.ends_with("podman.sock") { "]" } else { FURTHER };
        let service = format!(
            "{{image: 'base:1', command: sleep 1000, network_mode: none, stop_grace_period: 0s, volumes: ['/tmp:/x'{more}}}"
        );
        std::fs::write(
            &file,
            format!("name: gatetest\nservices:\n  jellyfin: {service}\nvolumes: {{data: {{}}}}\n"),
        )
        .unwrap();
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
        let before = Gated::before(Sandbox::new(), &engine, 2, &[]);
        let gate = before.socket();
        let streams: Vec<_> = (0..200)
            .map(|_| {
                let mut stream = before.connect();
                stream.write_all(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
                stream
            })
            .collect();
        std::thread::sleep(Duration::from_secs(1));
        let status = std::fs::read_to_string(format!("/proc/{}/status", before.pid())).unwrap();
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
        let (mut direct, mut gated): (Vec<_>, Vec<_>) = (0..9).map(|_| (bulk(&engine), bulk(&gate))).unzip();
        direct.sort();
        gated.sort();
        println!(
            "{}: 1 GiB {:?}, through the gate {:?} (medians of 9)",
            engine.display(),
            direct[4],
            gated[4]
        );
    }
}

/// Appends the events of containers to a file as they come: `restart media_database`.
fn events(engine: &Path, file: &Path) -> Child {
    let form = "{{.Action}} {{.Actor.Attributes.name}}";
    let words = ["events", "--filter", "type=container", "--format", form];
    let url = format!("unix://{}", engine.display());
    let file = File::options().create(true).append(true).open(file).unwrap();
    let mut command = Command::new("docker");
    command.args(words).env("DOCKER_HOST", url).stdin(Stdio::null()).stdout(file).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// How often each action has happened to each container: `restart media_database`.
fn counted(file: &Path) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for line in std::fs::read_to_string(file).unwrap().lines() {
        *all.entry(line.to_owned()).or_default() += 1;
    }
    all
}

fn inspected(engine: &Path, name: &str) -> Value {
    let mut all: Value = serde_json::from_str(&works(engine, &["docker", "inspect", name], "")).unwrap();
    all[0].take()
}

#[test]
#[ignore = "needs engines: tests/image/gate"]
fn no_spelling_changes_a_container_of_an_engine_unrecorded() {
    let count: usize = std::env::var("OPSCTL_TEST_SAMPLE").map_or(2_000, |count| count.parse().unwrap());
    for engine in engines() {
        let mut named = ["k0", "jellyfin"].map(|name| (name.to_owned(), container(&engine, name, &[])));
        let gated = Gated::before(Sandbox::new(), &engine, 2, &[]);
        for name in ["k0", "k0", "jellyfin", "jellyfin"] {
            assert_eq!(gated.ask("POST", &format!("/v1.41/containers/{name}/restart?t=0"), "").0, 204);
        }
        let states = || ["k0", "jellyfin"].map(|name| inspected(&engine, name));
        let before = states();
        let log = gated.sandbox.path("events");
        let mut listening = events(&engine, &log);
        std::thread::sleep(Duration::from_secs(1));
        let mut random = Random(0x5eed_0002);
        let mut sender = Client::new(&gated);
        let mut statuses = BTreeMap::<u16, usize>::new();
        let mut send = |count: usize, named: &[(String, String)]| {
            for _ in 0..count {
                for status in sender.send(&case(&mut random, named)).0 {
                    *statuses.entry(status).or_default() += 1;
                }
            }
        };
        // The budgets are used up.
        send(count, &named);
        assert_eq!(states(), before);
        assert_eq!(counted(&log), BTreeMap::new());
        gated.allow(40);
        for _ in 0..count / 200 {
            send(100, &named);
            for (name, id) in &mut named {
                if client(&engine, &["docker", "start", name], "").0 != Some(0) {
                    *id = container(&engine, name, &[]);
                }
            }
        }
        std::thread::sleep(Duration::from_secs(1));
        listening.kill().unwrap();
        listening.wait().unwrap();
        let seen = counted(&log);
        println!("{}: {count} spellings, {statuses:?}; events {seen:?}", engine.display());
        for name in ["k0", "jellyfin"] {
            let of = |action: &str| seen.get(&format!("{action} {name}")).copied().unwrap_or(0);
            // A restart is a stop, too.
            let stops = of("stop").saturating_sub(of("restart"));
            let acted = of("restart") + stops + of("pause") + of("unpause") + of("destroy") + of("remove");
            let rows = |more: &str| -> usize {
                let query = format!("SELECT count(*) FROM hook_actions WHERE service = '{name}'{more}");
                gated.sandbox.sql(&query).parse().unwrap()
            };
            println!("{name}: {acted} changes, {} recorded", rows(""));
            // A start after a stop does not count.
            assert!(acted + 2 <= rows("") && rows(" AND counts") <= 40 && acted > 0);
            assert_eq!(of("rename") + of("update"), 0);
        }
        creations_have_no_rights(&gated, &engine, count / 20);
    }
}

/// Creates containers in many spellings. What the engine makes of them has no rights of the host.
fn creations_have_no_rights(gated: &Gated, engine: &Path, count: usize) {
    let host = tempfile::tempdir().unwrap();
    let host = host.path().to_str().unwrap();
    let mut random = Random(0x5eed_0003);
    let mut created = 0;
    for _ in 0..count {
        let body = creation(&mut random, host);
        let (status, answer) = gated.ask("POST", "/v1.41/containers/create", &body);
        if status != 201 {
            continue;
        }
        created += 1;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let id = answer["Id"].as_str().unwrap();
        let json = inspected(engine, id);
        assert!(!has_rights(&json, host), "{body}\n{json}");
        works(engine, &["docker", "rm", "-f", id], "");
    }
    println!("{}: {created} of {count} containers created", engine.display());
    assert!(created > 0 && created < count);
}

/// Ends dockerd with a signal, and starts it again.
fn restart_engine(signal: &str) {
    let script = "pid=$(cat docker.pid) && kill -$1 $pid && while kill -0 $pid 2>/dev/null; do sleep 0.1; done; . ./start-dockerd";
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash", signal]).current_dir(folder()).stdin(Stdio::null());
    assert!(command.status().unwrap().success());
}

#[test]
#[ignore = "needs engines: tests/image/gate"]
fn restarts_of_an_engine_under_load_lose_and_double_nothing() {
    const LIMIT: usize = 12;
    let engine = folder().join("docker.sock");
    let names: Vec<String> = (0..8).map(|number| format!("load{number}")).collect();
    for name in &names {
        container(&engine, name, &["--restart", "always"]);
    }
    let gated = Gated::before(Sandbox::new(), &engine, 2, &[]);
    gated.allow(LIMIT);
    let log = gated.sandbox.path("events");
    let (done, mut listening) = (AtomicBool::new(false), events(&engine, &log));
    let ask = |seed: u64| {
        let mut random = Random(seed * 0x9e37_79b9);
        let mut all = Vec::new();
        while !done.load(Ordering::Relaxed) {
            let name = &names[random.below(names.len())];
            let (status, text) = gated.ask("POST", &format!("/v1.41/containers/{name}/restart?t=0"), "");
            // A gate that could not ask which container it is has forwarded nothing.
            let is_unasked = text.contains("could not be asked") || text.contains("No such container");
            all.push((name.as_str(), if is_unasked { 0 } else { status }));
            std::thread::sleep(Duration::from_millis(100));
        }
        all
    };
    let answers: Vec<(&str, u16)> = std::thread::scope(|scope| {
        let ask = &ask;
        let clients: Vec<_> = (1..=24).map(|seed| scope.spawn(move || ask(seed))).collect();
        for signal in ["TERM", "KILL", "TERM"] {
            std::thread::sleep(Duration::from_millis(1500));
            restart_engine(signal);
            let _ = listening.wait();
            listening = events(&engine, &log);
        }
        std::thread::sleep(Duration::from_secs(3));
        done.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    std::thread::sleep(Duration::from_secs(1));
    listening.kill().unwrap();
    listening.wait().unwrap();
    let events = counted(&log);
    let mut statuses = BTreeMap::<u16, usize>::new();
    for (_, status) in &answers {
        *statuses.entry(*status).or_default() += 1;
    }
    println!("{statuses:?}");
    let rows = |name: &str, more: &str| -> usize {
        let query = format!("SELECT count(*) FROM hook_actions WHERE service = '{name}'{more}");
        gated.sandbox.sql(&query).parse().unwrap()
    };
    for name in &names {
        let of = |wanted: &dyn Fn(u16) -> bool| {
            answers.iter().filter(|(own, status)| own == name && wanted(*status)).count()
        };
        let (passed, other) = (of(&|status| status == 204), of(&|status| !matches!(status, 0 | 204 | 403)));
        let seen = events.get(&format!("restart {name}")).copied().unwrap_or(0);
        println!("{name}: {passed} done, {other} failed or unknown, {seen} events, {} rows", rows(name, ""));
        // Each request that was forwarded has a row, and no other one has; what the engine has done has one.
        assert_eq!(rows(name, ""), passed + other);
        assert_eq!(rows(name, " AND state = 'done'"), passed);
        assert!(rows(name, "") <= LIMIT && seen <= passed + other);
    }
    let passed = statuses.get(&204).copied().unwrap_or(0);
    let other = statuses.iter().filter(|(status, _)| !matches!(status, 0 | 204 | 403));
    assert!(passed > 16 && other.count() > 0, "{statuses:?}");
    for name in &names {
        client(&engine, &["docker", "rm", "-f", name], "");
    }
}
