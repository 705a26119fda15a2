//! Questions to a person with the real client: deferred, answered, resumed.

use std::path::Path;

use crate::support::{
    Finished, Program, Ran, Session, Workspace, bash, client, earlier_client, text, together,
};
use serde_json::{Value, json};

/// What an agent does until its budget is spent, and once more.
pub const THIRD: [&str; 3] =
    ["docker restart jellyfin; true 1", "docker restart jellyfin; true 2", "docker restart jellyfin"];

/// A workspace with a key pair and a policy that asks about `topics`.
pub fn workspace(topics: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.put_stub("docker", "[ \"$1\" = ps ] && echo 'Up 2 minutes'; exit 0");
    let key = Program::opsctl(&workspace).args(["key"]).run();
    assert_eq!(key.exit_code, Some(0), "{}", key.stderr);
    workspace.render(&format!(
        "services: {{jellyfin: {{}}, sonarr: {{}}}}\npolicy:\n  ask: {topics}\n  {}\n",
        key.stdout.trim()
    ));
    workspace
}

fn opsctl(workspace: &Workspace, arguments: &[&str]) -> Ran {
    Program::opsctl(workspace).args(arguments).env("USER", "ann").run()
}

/// The session continues, as the entrypoint continues it. Calls of the model have ids after those of the first session.
pub fn resumed(finished: Finished) -> Session {
    let (id, calls) = (finished.session_id().to_owned(), finished.tool_calls());
    Session::continuing(finished.into_workspace()).resuming(&id, calls)
}

/// The calls of docker that are not those of a verification.
pub fn restarts(workspace: &Workspace) -> Vec<String> {
    workspace.marks("docker").into_iter().filter(|arguments| arguments.starts_with("restart")).collect()
}

/// Whether the session ended at a deferred call. `terminal_reason` is missing where a resumed session defers it again.
pub fn is_deferred(finished: &Finished) -> bool {
    let result = finished.stream.iter().rev().find(|line| line["type"] == "result");
    result.is_some_and(|line| line["deferred_tool_use"]["id"].is_string())
}

pub fn states(workspace: &Workspace) -> Vec<Value> {
    let listed = opsctl(workspace, &["approvals", "--all", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap_or_else(|_| panic!("{}", listed.stderr));
    listed["approvals"].as_array().unwrap().iter().map(|question| question["state"].clone()).collect()
}

#[test]
fn an_approved_restart_runs_once_when_the_session_continues() {
    let finished = Session::continuing(workspace("[budget]")).commands(THIRD).run();
    assert_eq!(restarts(&finished).len(), 2);
    assert_eq!((finished.exit_code, is_deferred(&finished)), (0, true));
    assert_eq!(states(&finished), ["open"]);
    // Still open: the session ends once more, and nothing runs.
    let finished = resumed(finished).run();
    assert!(is_deferred(&finished));
    assert_eq!(restarts(&finished).len(), 2);
    let approved = opsctl(&finished, &["approve", "1", "--note", "the disk is replaced"]);
    assert_eq!((approved.exit_code, approved.stderr.as_str()), (Some(0), ""));
    let finished = resumed(finished).run();
    assert_eq!(restarts(&finished).len(), 3);
    assert!(finished.shown_at_end().contains("approved by ann"), "{}", finished.shown_at_end());
    assert_eq!(states(&finished), ["used"]);
    let counted = finished.rows("SELECT count(*) AS n FROM cooldown_actions");
    assert_eq!(counted, [json!({"n": 3})]);
    let finished = resumed(finished).prompt("go on").commands(["docker restart jellyfin; true 4"]).run();
    assert_eq!((restarts(&finished).len(), is_deferred(&finished)), (3, true));
}

#[test]
fn the_model_reads_why_a_restart_was_refused() {
    let finished = Session::continuing(workspace("[budget]")).commands(THIRD).run();
    opsctl(&finished, &["refuse", "1", "--note", "the backup runs until six"]);
    let finished = resumed(finished).run();
    assert_eq!(restarts(&finished).len(), 2);
    let shown = finished.shown_at_end();
    assert!(shown.contains("ann refused question 1: the backup runs until six."), "{shown}");
    assert!(!is_deferred(&finished));
}

#[test]
fn an_unanswered_question_ends_at_its_timeout() {
    let finished = Session::continuing(workspace("[{about: budget, timeout: 2s}]")).commands(THIRD).run();
    assert!(is_deferred(&finished));
    std::thread::sleep(std::time::Duration::from_secs(3));
    let late = opsctl(&finished, &["approve", "1"]);
    assert!(late.stderr.contains("question 1 has expired"), "{}", late.stderr);
    let finished = resumed(finished).run();
    assert_eq!(restarts(&finished).len(), 2);
    assert!(
        finished.shown_at_end().contains("No person answered question 1 by"),
        "{}",
        finished.shown_at_end()
    );
}

#[test]
fn a_second_question_in_one_message_is_denied_and_the_first_one_is_kept() {
    let finished = Session::continuing(workspace("[budget]"))
        .commands([THIRD[0], THIRD[1]])
        .commands(["docker restart sonarr; true 1", "docker restart sonarr; true 2"])
        .step(together([bash("docker restart jellyfin"), bash("docker restart sonarr"), bash("echo fine")]))
        .run();
    assert_eq!((restarts(&finished).len(), states(&finished)), (4, vec![json!("open")]));
    opsctl(&finished, &["approve", "1"]);
    let finished = resumed(finished).run();
    assert_eq!(restarts(&finished).last().unwrap(), "restart jellyfin");
    assert_eq!(restarts(&finished).len(), 5);
    assert!(
        finished.shown_at_end().contains("question 1 of this session is still open"),
        "{}",
        finished.shown_at_end()
    );
}

/// A hook that defers every call, of any release of the client.
fn deferred_by(client: &Path) -> Finished {
    let answer = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer","permissionDecisionReason":"x"}}'"#;
    let hooks = json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": "hook", "args": [], "timeout": 10}]}]);
    Session::new()
        .client(client)
        .stub("hook", answer)
        .settings(&json!({"hooks": {"PreToolUse": hooks}}))
        .step(bash("docker restart jellyfin"))
        .run()
}

#[test]
fn every_release_that_is_asked_to_defer_does_not_run_the_call() {
    for client in [client(), earlier_client("OLD_CLIENT_VERSION"), earlier_client("MIDDLE_CLIENT_VERSION")] {
        let finished = deferred_by(&client);
        assert_eq!(restarts(&finished), [""; 0], "{}", client.display());
        assert!(is_deferred(&finished), "{}", client.display());
    }
}

#[test]
fn an_earlier_release_continues_an_approved_session_too() {
    for name in ["OLD_CLIENT_VERSION", "MIDDLE_CLIENT_VERSION"] {
        let client = earlier_client(name);
        let finished = Session::continuing(workspace("[budget]")).client(&client).commands(THIRD).run();
        assert_eq!((restarts(&finished).len(), states(&finished)), (2, vec![json!("open")]), "{name}");
        opsctl(&finished, &["approve", "1"]);
        let finished = resumed(finished).client(&client).run();
        assert_eq!(restarts(&finished).len(), 3, "{name}");
    }
}

#[test]
fn a_question_is_sent_once_with_the_agents_last_words_and_without_secrets() {
    let finished = Session::continuing(workspace("[budget]"))
        .operators_listen()
        .commands([THIRD[0], THIRD[1]])
        .step(together([
            text("Jellyfin does not answer on its port, and its log ends with an I/O error."),
            bash("API_TOKEN=hunter2hunter2hunter2 docker restart jellyfin"),
        ]))
        .run();
    let sent: Vec<&Value> = finished
        .notifications()
        .iter()
        .filter(|notice| notice["title"].as_str().unwrap().contains("Question 1"))
        .collect();
    assert_eq!(sent.len(), 1, "{:?}", finished.notifications());
    let body = sent[0]["message"].as_str().unwrap();
    for part in [
        "docker restart jellyfin",
        "its log ends with an I/O error",
        "opsctl approve 1",
        "Cooldown limit exceeded",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert!(!body.contains("hunter2"), "{body}");
    assert!(
        !String::from_utf8_lossy(&std::fs::read(finished.path("state/claudeops.db")).unwrap())
            .contains("hunter2")
    );
}

#[test]
fn no_question_is_asked_about_a_call_of_a_subagent() {
    let finished = Session::continuing(workspace("[budget]"))
        .tools("Bash,Task")
        .commands([THIRD[0], THIRD[1]])
        .step(crate::support::tool(
            "Task",
            &json!({"description": "restart", "prompt": "the subagent restarts it", "subagent_type": "general-purpose"}),
        ))
        .subagent("the subagent restarts it", [bash("docker restart jellyfin")])
        .run();
    assert_eq!((restarts(&finished).len(), states(&finished)), (2, vec![]));
    let shown =
        finished.tool_results().iter().find(|result| result.input["command"] == "docker restart jellyfin");
    shown.unwrap().assert_refused("the calls of subagents cannot wait for an answer");
}
