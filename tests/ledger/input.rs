//! Ten thousand broken inputs of many kinds, the same ones in every run.

use chrono::{DateTime, Utc};
use opsctl::hooks::answer::Answer;
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::paths::word_paths::UnknownMachine;
use opsctl_policy::rules::never;
use serde_json::{Value, json};

use crate::clock::{request, served};
use crate::random::Random;
use crate::sandbox::{Sandbox, call};

const INPUTS: usize = 10_000;
/// They are served in this many parts at the same time.
const PARTS: usize = 4;
/// The number of inputs for which whole processes run: their output and exit codes.
const EVERY: usize = 25;

const EVENTS: [Option<&str>; 8] = [
    None,
    Some("pre-tool-use"),
    Some("pre-tool-use"),
    Some("pre-tool-use"),
    Some("post-tool-use"),
    Some("post-tool-use-failure"),
    Some("session-end"),
    Some("stop"),
];

const COMMANDS: [&str; 12] = [
    "ls -la",
    "docker restart jellyfin",
    "ssh root@ie01 'docker restart sonarr && systemctl restart nginx'",
    "docker compose -f /srv/plex/compose.yml up -d --force-recreate",
    "ansible-playbook redeploy-jellyfin.yml -e service=jellyfin",
    "docker restart $(docker ps -q)",
    "for s in a b c; do docker restart $s; done",
    "while true; do docker restart a; done",
    "gh pr create --title 'Mend it'",
    "docker restart \"unclosed",
    "echo docker restart jellyfin",
    "bash <<'E'\ndocker restart radarr\nE",
];

fn valid(random: &mut Random) -> Value {
    let mut input = call(&format!("t{}", random.below(5_000)), random.pick(&COMMANDS));
    let events = ["PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd", "Stop", "PostToolBatch"];
    input["hook_event_name"] = json!(random.pick(&events[..]));
    input["session_id"] = json!(format!("s{}", random.below(50)));
    match random.below(6) {
        0 => input["tool_response"] = json!({"stdout": "x", "interrupted": random.below(2) == 0}),
        1 => input["error"] = json!("Exit code 1\nno"),
        2 => input["tool_use_id"] = Value::Null,
        3 => drop(input.as_object_mut().unwrap().shift_remove("session_id")),
        _ => {}
    }
    input
}

/// Mutates an input: replaces text, changes, removes or doubles bytes, or returns random bytes.
fn input(random: &mut Random) -> Vec<u8> {
    let mut bytes = valid(random).to_string().into_bytes();
    match random.below(8) {
        0..=2 => {}
        3 => bytes.truncate(random.below(bytes.len() + 1)),
        4 | 5 => {
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, random.pick(b"\\\"{}[],:\0 \n$`'|&;()")),
                }
            }
        }
        6 => {
            let values = ["null", "[]", "{}", "1e999", "-0", "\"\\ud800\"", "[[[[]]]]", "true", "\"\""];
            let text = String::from_utf8(bytes).unwrap();
            let mut parts: Vec<&str> = text.split(':').collect();
            let at = 1 + random.below(parts.len() - 1);
            parts[at] = random.pick(&values);
            bytes = parts.join(":").into_bytes();
        }
        _ => {
            let length = random.below(300);
            bytes = (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        }
    }
    bytes
}

/// The client's schema of a denial, without other keys.
fn is_a_denial(stdout: &str) -> bool {
    let Ok(Value::Object(json)) = serde_json::from_str(stdout) else { return false };
    let Some(Value::Object(output)) = json.get("hookSpecificOutput") else { return false };
    json.len() == 1
        && output.len() == 3
        && output["hookEventName"] == "PreToolUse"
        && output["permissionDecision"] == "deny"
        && output["permissionDecisionReason"].as_str().is_some_and(|reason| !reason.is_empty())
}

/// The command of an input for the hook before a tool call, parsed as plain JSON.
fn asked(input: &[u8], event: Option<&str>) -> Option<String> {
    let json: Value = serde_json::from_slice(input).ok()?;
    let stated = json["hook_event_name"].as_str().filter(|name| !name.is_empty());
    // Input that states no event may be a tool call.
    (event == Some("pre-tool-use") || (event.is_none() && stated.is_none_or(|name| name == "PreToolUse")))
        .then(|| json["tool_input"]["command"].as_str().map(str::to_owned))?
}

/// Whether a command carries out an action, or changes something that is always denied: `gh prcreate` is no verb.
fn may_be_denied(command: &str) -> bool {
    let reading = opsctl_reader::actions::read_command(command, None);
    let denied = || never::objections(&reading.script, &Rules::default(), None, &UnknownMachine);
    !reading.actions.is_empty() || !denied().is_empty()
}

/// Checks the contract of every answer.
fn check(input: &[u8], event: Option<&str>, answer: &Answer) {
    let shown = String::from_utf8_lossy(input);
    let stdout = answer.output.to_string();
    if answer.denial.is_none() && stdout.contains("opsctl sessions status") {
        // Time passes in this test, so a session may be reminded; by a batch of tools and by nothing else.
        let json: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(json["hookSpecificOutput"]["hookEventName"], "PostToolBatch", "{shown}");
    } else if answer.denial.is_none() {
        assert_eq!(stdout, "", "{shown}");
    } else if answer.denial.as_ref().is_some_and(|reason| reason.contains("invalid hook input")) {
        // Of a client that may be another one: it reads no JSON.
        assert_eq!(stdout, "", "{shown}");
    } else {
        assert!(is_a_denial(&stdout), "{shown}: {answer:?}");
        // Input that is no JSON by the book may still be read (lone surrogates, stray bytes): not more.
        if serde_json::from_slice::<Value>(input).is_ok() {
            let command = asked(input, event).unwrap_or_else(|| panic!("{shown}: {answer:?}"));
            assert!(may_be_denied(&command), "{shown}: {answer:?}");
        }
    }
    assert!(
        answer.warnings.iter().all(|warning| !warning.to_string().contains("cannot be used")),
        "{shown}: {answer:?}"
    );
}

#[test]
fn ten_thousand_inputs_are_answered_within_the_contract() {
    let parts: Vec<[usize; 3]> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..PARTS).map(|part| scope.spawn(move || answered(part))).collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    });
    let [denied, unreadable, processes] =
        [0, 1, 2].map(|at| parts.iter().map(|part| part[at]).sum::<usize>());
    assert!(denied > 100, "{denied} of {INPUTS} were denied: the inputs do not reach the rules");
    assert!(unreadable > 1_000, "{unreadable} of {INPUTS} were unreadable");
    println!("{INPUTS} inputs, {processes} through processes, {denied} denied, {unreadable} unreadable");
}

/// Serves one part of the inputs: how many were denied, unreadable, and served by a process.
fn answered(part: usize) -> [usize; 3] {
    let mut sandbox = Sandbox::new();
    let mut random = Random::new(10_000 + u64::try_from(part).unwrap());
    let start: DateTime<Utc> = "2026-03-21T14:00:00Z".parse().unwrap();
    let (mut denied, mut unreadable, mut processes) = (0, 0, 0);
    for n in 0..INPUTS / PARTS {
        // A state folder of a thousand hours is rare, and slow.
        if n % 250 == 0 {
            sandbox = Sandbox::new();
            sandbox.write("hosts.yaml", "policy: {}\n");
        }
        let event = random.pick(&EVENTS);
        let input = input(&mut random);
        let now = start + chrono::TimeDelta::seconds(i64::try_from(n).unwrap() * 60);
        if n % EVERY == 0 {
            processes += 1;
            let arguments = ["hook"].into_iter().chain(event).collect::<Vec<_>>();
            let run = sandbox.opsctl(&arguments, &input);
            let shown = String::from_utf8_lossy(&input);
            match run.code {
                Some(0) => assert_eq!(run.stdout, "", "{shown}"),
                Some(2) => {
                    let is_unread = run.stderr.contains("invalid hook input") && run.stdout.is_empty();
                    assert!(is_unread || is_a_denial(&run.stdout), "{shown}: {run:?}");
                    assert!(!run.stderr.trim().is_empty(), "{shown}: {run:?}");
                }
                other => panic!("{other:?} for {shown}: {run:?}"),
            }
            assert!(!run.stderr.contains("defect") && !run.stderr.contains("panicked"), "{shown}: {run:?}");
        }
        sandbox.set_clock_of_ledger(now);
        let answer = served(&input, event, &request(&sandbox, now));
        check(&input, event, &answer);
        denied += usize::from(answer.denial.is_some());
        unreadable += usize::from(
            answer.warnings.iter().any(|warning| warning.to_string().contains("invalid hook input")),
        );
    }
    [denied, unreadable, processes]
}
