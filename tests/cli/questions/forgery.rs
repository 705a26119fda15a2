//! What an agent may try to answer its own question, with full access to the ledger: none of it runs the call.

use serde_json::{Value, json};

use super::{THIRD, allowed, answer, asked, decision, deferred, did, hook};
use crate::sandbox::{Run, Sandbox, call, denied, passes};

/// Signs with the key of another policy, as an agent would that has made its own.
fn answer_with_own_key(sandbox: &Sandbox, arguments: &[&str]) -> Run {
    let own = sandbox.path("own.key");
    let made = sandbox.command_with(&["key"], &[("CLAUDEOPS_APPROVAL_KEY", own.to_str().unwrap())]);
    let key = String::from_utf8(made.stdout).unwrap();
    let hosts = sandbox.write("own.yaml", &format!("services: {{jellyfin: {{}}}}\npolicy:\n  {key}"));
    let variables =
        [("CLAUDEOPS_APPROVAL_KEY", own.to_str().unwrap()), ("CLAUDEOPS_HOSTS", hosts.to_str().unwrap())];
    let output = sandbox.command_with(arguments, &variables);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Copies the answer to one question to another one.
fn copy_answer(sandbox: &Sandbox, from: u8, to: u8) {
    sandbox.sql(&format!(
        "INSERT INTO question_answers SELECT {to}, answer, answered_by, answered_at, expires_at, note, signature
         FROM question_answers WHERE question_id = {from}"
    ));
}

const UNSIGNED: &str =
    "INSERT INTO question_answers VALUES (1, 'approve', 'ann', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'),
     strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '+1 hour'), NULL, ";

/// What an agent does, with full access to the ledger, so that its third restart runs. The call that it then makes.
type Attempt = fn(&Sandbox) -> Value;

fn third() -> Value {
    call("t3", THIRD)
}

const ATTEMPTS: [(&str, Attempt); 27] = [
    ("an answer without a signature", |sandbox| {
        sandbox.sql(&format!("{UNSIGNED} '')"));
        third()
    }),
    ("an answer with an invented signature", |sandbox| {
        sandbox.sql(&format!("{UNSIGNED} '{}')", "A".repeat(86) + "=="));
        third()
    }),
    ("an answer signed with a key of its own", |sandbox| {
        assert_eq!(answer_with_own_key(sandbox, &["approve", "1"]).code, Some(0));
        third()
    }),
    ("the key file replaced by one of its own", |sandbox| {
        std::fs::remove_file(sandbox.path("approval.key")).unwrap();
        did(&answer(sandbox, &["key"]));
        assert_eq!(answer(sandbox, &["approve", "1"]).code, Some(1));
        third()
    }),
    ("a refusal turned into an approval", |sandbox| {
        did(&answer(sandbox, &["refuse", "1"]));
        sandbox.sql("UPDATE question_answers SET answer = 'approve'");
        third()
    }),
    ("the refusal removed and an approval inserted with its signature", |sandbox| {
        did(&answer(sandbox, &["refuse", "1"]));
        sandbox.sql("UPDATE question_answers SET answer = 'approve', note = NULL, answered_by = 'ann'");
        third()
    }),
    ("an approval that has expired, with a later expiry", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        sandbox.sql("UPDATE question_answers SET expires_at = '2199-01-01T00:00:00Z'");
        third()
    }),
    ("an approval with another time of the answer", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        sandbox.sql("UPDATE question_answers SET answered_at = '2199-01-01T00:00:00Z'");
        third()
    }),
    ("an approval with another name", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        sandbox.sql("UPDATE question_answers SET answered_by = 'bob'");
        third()
    }),
    ("an approval with another note", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        sandbox.sql("UPDATE question_answers SET note = 'and everything else'");
        third()
    }),
    ("a used approval", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        allowed(&hook(sandbox, &third()));
        third()
    }),
    ("a used approval whose mark is removed", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        allowed(&hook(sandbox, &third()));
        passes(&sandbox.after("t3", THIRD));
        sandbox.sql("UPDATE questions SET used_at = NULL");
        third()
    }),
    ("the approval of another session's question", |sandbox| {
        let mut other = third();
        other["session_id"] = json!("another");
        deferred(&hook(sandbox, &other));
        did(&answer(sandbox, &["approve", "2"]));
        copy_answer(sandbox, 2, 1);
        third()
    }),
    ("the approval of another call", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        call("t4", THIRD)
    }),
    ("an approval moved to another call", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        sandbox.sql("UPDATE questions SET tool_use_id = 't4'");
        call("t4", THIRD)
    }),
    ("an approval moved to another session", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        sandbox.sql("UPDATE questions SET session_id = 'another'");
        let mut other = third();
        other["session_id"] = json!("another");
        other
    }),
    ("another command under the approved call", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        call("t3", "docker restart jellyfin; docker restart jellyfin")
    }),
    ("another folder under the approved call", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        let mut other = third();
        other["cwd"] = json!("/etc");
        other
    }),
    ("another argument under the approved call", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        let mut other = third();
        other["tool_input"]["run_in_background"] = json!(true);
        other
    }),
    ("another tool under the approved call", |sandbox| {
        did(&answer(sandbox, &["approve", "1"]));
        let mut other = third();
        other["tool_name"] = json!("Monitor");
        other
    }),
    ("a question that shows another command than the call", |sandbox| {
        sandbox.sql("UPDATE questions SET command = 'docker ps'");
        did(&answer(sandbox, &["approve", "1"]));
        third()
    }),
    ("a question that shows other actions than the call", |sandbox| {
        sandbox.sql("UPDATE questions SET actions = '[]', service = NULL");
        did(&answer(sandbox, &["approve", "1"]));
        third()
    }),
    ("a grant without a signature", |sandbox| {
        sandbox.sql(
            "INSERT INTO grants VALUES (1, 'jellyfin', 'restart', 9, 'ann', '2026-01-01T00:00:00Z', '2199-01-01T00:00:00Z', NULL, '')",
        );
        call("t4", THIRD)
    }),
    ("a grant signed with a key of its own", |sandbox| {
        let run = answer_with_own_key(sandbox, &["grant", "jellyfin", "restart", "1", "--for", "1h"]);
        did(&run);
        call("t4", THIRD)
    }),
    ("a grant of another service", |sandbox| {
        did(&answer(sandbox, &["grant", "sonarr", "restart", "1", "--for", "1h"]));
        sandbox.sql("UPDATE grants SET service = 'jellyfin'");
        call("t4", THIRD)
    }),
    ("a used grant with a larger count", |sandbox| {
        did(&answer(sandbox, &["grant", "jellyfin", "restart", "1", "--for", "1h"]));
        allowed(&hook(sandbox, &call("t4", THIRD)));
        passes(&sandbox.after("t4", THIRD));
        sandbox.sql("UPDATE grants SET count = 9");
        call("t5", THIRD)
    }),
    ("a used grant copied to another number", |sandbox| {
        did(&answer(sandbox, &["grant", "jellyfin", "restart", "1", "--for", "1h"]));
        allowed(&hook(sandbox, &call("t4", THIRD)));
        passes(&sandbox.after("t4", THIRD));
        sandbox.sql(
            "INSERT INTO grants SELECT 2, service, kind, count, granted_by, granted_at, expires_at, note, signature FROM grants",
        );
        call("t5", THIRD)
    }),
];

#[test]
fn no_forged_answer_and_no_forged_grant_runs_a_call() {
    for (name, attempt) in ATTEMPTS {
        let sandbox = asked();
        let input = attempt(&sandbox);
        let run = hook(&sandbox, &input);
        let stopped = run.code == Some(2) || decision(&run).0 == "defer";
        assert!(stopped, "{name}: {run:?}");
    }
    // What the attempts alter is what otherwise allows the call.
    let sandbox = asked();
    did(&answer(&sandbox, &["approve", "1"]));
    allowed(&hook(&sandbox, &third()));
}

#[test]
fn a_forged_answer_is_reported_to_the_operators() {
    let sandbox = asked();
    sandbox.sql(&format!("{UNSIGNED} '')"));
    for _ in 0..2 {
        let reason = denied(&hook(&sandbox, &third()));
        assert!(reason.contains("Question 1 has an answer whose signature is not valid"), "{reason}");
    }
    assert_eq!(
        sandbox.sql("SELECT level, message FROM events WHERE level = 'critical'"),
        "critical|Answer to question 1 rejected: its signature is not valid for the call"
    );
    assert_eq!(
        sandbox.sql("SELECT level, title FROM notices WHERE key = 'forged'"),
        "critical|The answer to question 1 is not genuine"
    );
}
