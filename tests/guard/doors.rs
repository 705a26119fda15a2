//! Ways of an agent to the guard's keys and powers other than a command of its shell: verbs that open files, the socket. The guard and
//! the agent have users of their own, as in an installation. Needs root.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use opsctl::machine::link::address::Address;
use opsctl::machine::link::caller;
use opsctl::machine::link::caller::LinkError;
use opsctl::machine::link::lookup::Lookup;
use opsctl::machine::link::message::{Call, Reply, Request, SessionFacts};
use opsctl_policy::model::records::event::EVENTS;
use rustix::fs::inotify;
use serde_json::{Value, json};
use tempfile::TempDir;

const GUARD: u32 = 54_320;
const AGENT: u32 = 54_321;

/// Files of the guard, and what only they contain.
const SECRETS: [(&str, &str); 6] = [
    ("desk-token", "f00dfeed0123456789abcdef0123456789abcdef0123456789abcdef01234567"),
    ("desk.key", "decafbad0123456789abcdef0123456789abcdef0123456789abcdef01234567"),
    (
        "approval.key",
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIPLANTEDPLANTEDPLANTEDPLANTED\n-----END PRIVATE KEY-----",
    ),
    ("guard-failures.jsonl", "PLANTED-FAILURE docker restart"),
    ("plan.sh", "docker restart PLANTED-SCRIPT"),
    ("notes.yaml", "hosts:\n  PLANTED-HOST: {adress: PLANTED-ADDRESS}"),
];

/// What no answer to the agent contains.
const PLANTED: [&str; 5] = ["f00dfeed", "decafbad", "PLANTED", "MC4CAQAw", "BEGIN PRIVATE"];

struct Sides {
    folder: TempDir,
    program: PathBuf,
    guard: Child,
}

impl Sides {
    fn new() -> Self {
        assert!(
            rustix::process::geteuid().is_root(),
            "these tests run programs as two other users: run them as root"
        );
        let folder = TempDir::new().unwrap();
        let mode = |path: &PathBuf, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&folder.path().to_owned(), 0o755);
        for (name, owner, rights) in [("state", GUARD, 0o700), ("run", GUARD, 0o755), ("agent", AGENT, 0o700)]
        {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            chown(&path, Some(owner), Some(owner)).unwrap();
            mode(&path, rights);
        }
        for (name, text) in SECRETS {
            let path = folder.path().join("state").join(name);
            std::fs::write(&path, text).unwrap();
            chown(&path, Some(GUARD), Some(GUARD)).unwrap();
            mode(&path, 0o600);
        }
        // The folder of the build may be closed to other users. Another process copies it: a file that this one has open for writing
        // cannot be started.
        let program = folder.path().join("opsctl");
        let copied =
            Command::new("cp").args([env!("CARGO_BIN_EXE_opsctl").as_ref(), program.as_os_str()]).status();
        assert!(copied.unwrap().success());
        let socket = folder.path().join("run/opsctl.sock");
        let guard = Self::command(&program, GUARD, &folder.path().join("state"), &["serve", "--socket"])
            .arg(&socket)
            .env("CLAUDEOPS_GUARD_UIDS", AGENT.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "the guard does not listen");
            std::thread::sleep(Duration::from_millis(2));
        }
        Self { folder, program, guard }
    }

    fn command(program: &PathBuf, user: u32, state: &PathBuf, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", state)
            .env("CLAUDEOPS_STATE_DIR", state)
            .env("CLAUDE_PROJECT_DIR", state)
            .current_dir(state)
            .uid(user)
            .gid(user);
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn address(&self) -> Address {
        Address::Unix(self.path("run/opsctl.sock"))
    }

    /// What the agent reads when it calls opsctl.
    fn agent(&self, arguments: &[&str], stdin: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
        let mut command = Self::command(&self.program, AGENT, &self.path("agent"), arguments);
        let guard = format!("unix:{}", self.path("run/opsctl.sock").display());
        let mut child = command
            .env("CLAUDEOPS_GUARD", guard)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A verb that reads no input closes the pipe.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Sends a message as any program of the agent could; the questions that the guard asks, and its last answer.
    fn send(&self, call: Call, payload: &str) -> (Vec<Lookup>, Result<Reply, LinkError>) {
        let mut asked = Vec::new();
        let session = SessionFacts { state_dir: "/agent".into(), ..SessionFacts::default() };
        let request = Request { version: opsctl::machine::link::VERSION, call, session };
        let (sent, limit) = ((&request, payload.as_bytes()), Duration::from_secs(20));
        let answer = caller::call(&self.address(), sent, limit, &mut |lookup: &Lookup| {
            asked.push(lookup.clone());
            Value::Null
        });
        (asked, answer)
    }
}

impl Drop for Sides {
    fn drop(&mut self) {
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }
}

/// The options of each verb that name a file which is read, as its entry in the catalogue states them.
fn doors() -> Vec<(String, String)> {
    let entry = include_str!("../../crates/reader/src/catalogue/shell/opsctl.yaml");
    let mut doors = Vec::new();
    for line in entry.lines().filter_map(|line| line.strip_prefix("    ")) {
        let Some((verb, keys)) = line.split_once(": {") else { continue };
        let Some((_, list)) = keys.split_once("inputs: [") else { continue };
        let (list, _) = list.split_once(']').unwrap();
        doors.extend(list.split(", ").map(|option| (verb.to_owned(), option.to_owned())));
    }
    assert!(doors.len() > 12, "{doors:?}");
    doors
}

#[test]
fn the_guard_shows_the_agent_none_of_its_files() {
    let sides = Sides::new();
    let state = sides.path("state").display().to_string();
    let mut tried = 0;
    let mut check = |arguments: &[&str], stdin: &str| {
        let (_, text) = sides.agent(arguments, stdin, &[]);
        tried += 1;
        for planted in PLANTED {
            assert!(!text.contains(planted), "{arguments:?} shows `{planted}`:\n{text}");
        }
        text
    };
    for (name, _) in SECRETS {
        let path = format!("{state}/{name}");
        for command in [
            format!("bash {path}"),
            format!(". {path}"),
            format!("sh -c '. {path}'"),
            path.clone(),
            format!("cd {state}; bash {name}"),
            format!("python3 {path}"),
            format!("make -f {path}"),
            format!("xargs -a {path} docker restart"),
            format!("crontab {path}"),
            format!("ansible-playbook {path}"),
            format!("docker compose -f {path} up"),
            format!("{{\"tool_name\":\"Bash\",\"tool_input\":{{\"command\":\"bash {path}\"}}}}"),
        ] {
            check(&["explain", &command], "");
            check(&["explain", "--json", "-"], &command);
            check(&["explain", "--cwd", &state, &command], "");
        }
        for (verb, option) in doors() {
            let words: Vec<&str> = verb.split(' ').chain([option.as_str(), path.as_str()]).collect();
            check(&words, "");
            let joined = format!("{option}={path}");
            let words: Vec<&str> = verb.split(' ').chain([joined.as_str(), "x"]).collect();
            check(&words, "");
        }
        for html in [path.as_str(), "-"] {
            check(&["report", "--html", html], "");
        }
    }
    for served in [
        "status",
        "events",
        "audit",
        "stats",
        "cooldown",
        "sessions",
        "approvals",
        "verify",
        "suggest",
        "notify",
    ] {
        let text = check(&[served], "");
        assert!(!text.contains(&state), "`opsctl {served}` names the guard's folder:\n{text}");
        check(&[served, "--json"], "");
    }
    println!("{tried} calls");
}

#[test]
fn a_hook_denies_every_call_of_opsctl_that_opens_a_secret_file() {
    let sides = Sides::new();
    let token = sides.path("state/desk-token").display().to_string();
    let mut tried = 0;
    let mut denied = |command: &str, tier: Option<&str>| {
        let input = json!({"session_id": "s", "tool_use_id": "t", "tool_name": "Bash", "tool_input": {"command": command}});
        let variables: Vec<(&str, &str)> = tier.map(|tier| ("CLAUDEOPS_TIER", tier)).into_iter().collect();
        let (code, text) = sides.agent(&["hook", "pre-tool-use"], &input.to_string(), &variables);
        tried += 1;
        assert_eq!(code, Some(2), "`{command}` at tier {tier:?}: {text}");
        assert!(PLANTED.iter().all(|planted| !text.contains(planted)), "{text}");
    };
    for tier in [None, Some("1"), Some("2"), Some("3")] {
        for path in [token.as_str(), "/app/.env", "/root/.ssh/id_ed25519"] {
            for (verb, option) in doors() {
                denied(&format!("opsctl {verb} {option} {path}"), tier);
                denied(&format!("opsctl --color never {verb} {option}={path}"), tier);
                denied(&format!("sudo opsctl {verb} '{option}' \"{path}\" x"), tier);
            }
            denied(&format!("opsctl explain 'bash {path}'"), tier);
            denied(&format!("opsctl explain bash {path} | head"), tier);
            denied(&format!("opsctl explain - <<< 'source {path}'"), tier);
            denied(&format!("opsctl explain --json -- \". {path}\""), tier);
        }
        for verb in [
            "serve --socket /tmp/s",
            "launch ls",
            "launch -- docker restart jellyfin",
            "db grant --role me",
            "key",
            "grant jellyfin restart 1",
            "approve 1",
            "refuse 1",
            "prune",
            "cooldown reset jellyfin",
            "cooldown forget x",
            "mcp run -- ls",
            "rehearse",
            "hook stop",
            "session --tier 3",
            "handoff take",
            "init x",
            "render",
        ] {
            denied(&format!("opsctl {verb}"), tier);
            denied(&format!("opsctl --color always {verb}"), tier);
            denied(&format!("bash -c 'opsctl {verb}'"), tier);
        }
        let socket = sides.path("run/opsctl.sock").display().to_string();
        for command in [
            format!("nc -U {socket}"),
            format!("socat - UNIX-CONNECT:{socket}"),
            format!("curl --unix-socket {socket} http://x/"),
            format!("python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{socket}')\""),
        ] {
            denied(&command, tier);
        }
    }
    println!("{tried} calls");
}

#[test]
fn the_socket_serves_only_verbs_that_state_it_and_opens_no_path_of_a_peer() {
    let sides = Sides::new();
    let state = sides.path("state").display().to_string();
    let token = format!("{state}/desk-token");
    let verb = |line: &str| {
        let arguments = line.split(' ').map(|word| word.replace("FILE", &token)).collect();
        sides.send(Call::Verb { arguments, columns: None }, "").1
    };
    let refused = include_str!("verbs.txt").lines().filter_map(|line| line.strip_prefix('-'));
    for line in refused.map(str::trim) {
        match verb(line) {
            Ok(Reply::Output { code, stdout, stderr }) => {
                let text = format!("{stdout}{stderr}");
                assert!(
                    PLANTED.iter().all(|planted| !text.contains(planted)) && !text.contains(&state),
                    "`{line}`: {text}"
                );
                // Help is no data.
                assert!(code == 1 || ["help", "-h", "--version"].contains(&line), "`{line}`: {code} {text}");
            }
            Err(LinkError::Refused(_)) => {}
            other => panic!("`{line}`: {other:?}"),
        }
    }
    for line in ["status --no-hosts", "cooldown show --json", "report --html -", "events --limit 3"] {
        assert!(matches!(verb(line), Ok(Reply::Output { code: 0, .. })), "`{line}`");
    }
    // What an explanation depends on is asked of the peer.
    for command in [format!("bash {token}"), format!("cd {state} && . ./plan.sh"), format!("cat {state}/*")] {
        let call = Call::Explain { cwd: Some(state.clone()), tier: Some(3) };
        let (asked, answer) = sides.send(call, &command);
        let Ok(Reply::Value(value)) = answer else { panic!("{answer:?}") };
        let text = value.to_string();
        assert!(PLANTED.iter().all(|planted| !text.contains(planted)), "{text}");
        assert!(!asked.is_empty(), "nothing was asked about `{command}`");
    }
}

/// Counts the files below a folder that any process opens.
struct Bait {
    folder: PathBuf,
    opened: rustix::fd::OwnedFd,
}

impl Bait {
    fn new(folder: PathBuf) -> Self {
        let opened = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        for (name, text) in [
            ("handoff.json", "{\"recommended_tier\": 3}"),
            ("cooldown.json", "{}"),
            ("hosts.yaml", "services: {}"),
            ("transcript.jsonl", "{\"type\":\"assistant\"}"),
            ("CLAUDE.md", "x"),
            ("run.sh", "docker restart jellyfin"),
            ("claudeops.db", ""),
            (".claude/settings.json", "{}"),
            (".claude/opsctl/policy.json", "{}"),
            ("guard-undelivered.jsonl", "x"),
        ] {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for below in ["", ".claude", ".claude/opsctl"] {
            let flags = inotify::WatchFlags::OPEN | inotify::WatchFlags::ACCESS | inotify::WatchFlags::MODIFY;
            inotify::add_watch(&opened, folder.join(below), flags).unwrap();
        }
        Self { folder, opened }
    }

    fn opened(&self) -> Vec<String> {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.opened, &mut buffer);
        let mut names = Vec::new();
        while let Ok(event) = events.next() {
            names
                .push(event.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()));
        }
        names
    }
}

#[test]
fn the_guard_opens_no_file_that_a_peer_names_in_any_message() {
    let sides = Sides::new();
    let bait = Bait::new(sides.path("bait"));
    let at = |name: &str| bait.folder.join(name).display().to_string();
    std::fs::read(bait.folder.join("run.sh")).unwrap();
    assert!(!bait.opened().is_empty(), "nothing is seen");
    let session = |name: &str| SessionFacts {
        session: Some(name.to_owned()),
        client_session: Some(name.to_owned()),
        project_dir: at(""),
        results_dir: at(""),
        state_dir: at(""),
        process: Some("1".to_owned()),
        role: Some(at("CLAUDE.md")),
        agent: Some(at("handoff.json")),
        ..SessionFacts::default()
    };
    let mut messages = 0;
    let mut send = |call: Call, payload: &str, name: &str| {
        let request = Request { version: opsctl::machine::link::VERSION, call, session: session(name) };
        let (sent, limit) = ((&request, payload.as_bytes()), Duration::from_secs(30));
        // The answer does not matter.
        let _ = caller::call(&sides.address(), sent, limit, &mut |_: &Lookup| Value::Null);
        messages += 1;
        assert_eq!(bait.opened(), Vec::<String>::new(), "{request:?} {payload}");
    };
    let commands = [
        format!("bash {}", at("run.sh")),
        format!("cd {} && . ./run.sh; docker restart x", at("")),
        "docker restart jellyfin".to_owned(),
    ];
    for event in EVENTS.into_iter().chain(["wake-up", "made-up"]) {
        for command in &commands {
            let input = json!({
                "session_id": "s", "hook_event_name": event, "cwd": at(""), "transcript_path": at("transcript.jsonl"), "tool_use_id": "t", "tool_name": "Bash",
                "tool_input": {"command": command, "file_path": at("run.sh")}, "tool_response": {"stdout": at("run.sh")}, "source": "startup", "reason": "other",
                "error": at("run.sh"), "agent_transcript_path": at("transcript.jsonl"), "last_assistant_message": at("CLAUDE.md"),
            });
            send(Call::Event { event: Some(event.to_owned()) }, &input.to_string(), "s");
            send(Call::Event { event: None }, &input.to_string(), "s");
        }
    }
    for command in &commands {
        send(Call::Explain { cwd: Some(at("")), tier: None }, command, "s");
    }
    for line in [
        "explain bash BAIT",
        "report --html BAIT",
        "status",
        "verify --session s",
        "sessions status BAIT",
        "cooldown show BAIT",
        "events --service BAIT",
        "doctor --hooks --settings BAIT",
        "render --hosts BAIT",
        "db migrate --from BAIT",
        "launch cat BAIT",
        "init --from BAIT x",
        "context --role BAIT",
        "metrics --out BAIT",
        "audit --agent BAIT",
    ] {
        let arguments = line.split(' ').map(|word| word.replace("BAIT", &at("run.sh"))).collect();
        send(Call::Verb { arguments, columns: None }, "", "s");
    }
    for kept in [
        "{}",
        "x",
        &json!({"event": "post-tool-use", "input": {"transcript_path": at("transcript.jsonl")}}).to_string(),
    ] {
        send(Call::Kept, kept, "s");
        send(Call::Notice, kept, "s");
    }
    println!("{messages} messages");
}

#[test]
fn the_doctor_names_keys_that_an_earlier_release_could_have_shown() {
    let sides = Sides::new();
    let doctor = || {
        let output =
            Sides::command(&sides.program, GUARD, &sides.path("state"), &["doctor", "--only", "keys"])
                .output()
                .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let found = doctor();
    for name in ["approval.key", "desk.key", "desk-token"] {
        assert!(found.contains(name), "{found}");
    }
    for name in ["approval.key", "desk.key", "desk-token"] {
        std::fs::write(sides.path("state").join(name), "0123456789abcdef0123456789abcdef").unwrap();
    }
    assert!(doctor().starts_with("ok "), "{}", doctor());
}
