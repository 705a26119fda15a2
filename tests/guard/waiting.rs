//! Sessions that wait for a person: the real client, resumed when a question is answered, refused or has expired.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Program, Ran, Workspace, bash, text};

const RESTART: &str = "docker restart jellyfin";

/// A workspace in which a spent budget is asked about, and the key that signs the answers.
fn workspace(timeout: &str) -> Workspace {
    let workspace = Workspace::new();
    let ran = operator(&workspace, &["key"]).run();
    let key = ran.stdout.trim();
    assert!(key.starts_with("approval_key: ed25519:"), "{ran:?}");
    workspace.write(
        "hosts.yaml",
        &format!(
            "services: {{jellyfin: {{}}}}\npolicy:\n  {key}\n  ask: [{{about: budget, timeout: {timeout}}}]\n  verify: {{mode: agent}}\n"
        ),
    );
    workspace
}

/// A verb of a person, who has the key.
fn operator<'a>(workspace: &'a Workspace, arguments: &[&str]) -> Program<'a> {
    let key = workspace.path("approval.key").display().to_string();
    Program::opsctl(workspace).args(arguments).env("CLAUDEOPS_APPROVAL_KEY", &key)
}

fn runs(workspace: &Workspace) -> Vec<Value> {
    workspace.rows("SELECT tier, outcome FROM client_runs ORDER BY id")
}

/// The rounds of the container; `answer` is given as soon as there is a question. Ends when the session of tier 2 has ended.
fn rounds(workspace: &Workspace, answer: &'static [&'static str]) -> Ran {
    let answered = Mutex::new(false);
    Program::entrypoint(workspace)
        .env("CLAUDEOPS_INTERVAL", "60")
        // As with a read-only root, each round has a new home.
        .env("HOME", "")
        .at_tier(1, [bash(HANDOFF)])
        .at_tier(2, [bash(RESTART), bash(RESTART), bash(RESTART), text("the report of tier 2")])
        .ended_when(move |workspace| {
            let mut answered = answered.lock().unwrap();
            if !*answered && runs(workspace).contains(&json!({"tier": 2, "outcome": "waiting"})) {
                assert_eq!(workspace.marks("docker").len(), 2, "nothing runs before the answer");
                if !answer.is_empty() {
                    let ran = operator(workspace, answer).run();
                    assert_eq!(ran.exit_code, Some(0), "{ran:?}");
                }
                *answered = true;
            }
            runs(workspace).contains(&json!({"tier": 2, "outcome": "completed"}))
        })
        .timeout(Duration::from_mins(2))
        .run()
}

const HANDOFF: &str = r#"opsctl handoff write <<'JSON'
{"schema_version": 1, "recommended_tier": 2, "services_affected": ["jellyfin"],
 "check_results": [{"service": "jellyfin", "check_type": "http", "status": "unhealthy", "error": "502"}],
 "investigation_findings": "down"}
JSON"#;

#[test]
fn an_approved_restart_runs_once_in_the_same_session() {
    let workspace = workspace("30m");
    let ran = rounds(&workspace, &["approve", "1", "--note", "the disk is new"]);
    assert_eq!(ran.exit_code, Some(0), "{ran:#?}");
    assert_eq!(workspace.marks("docker"), ["restart jellyfin"; 3], "{ran:#?}");
    let sessions = workspace
        .rows("SELECT count(DISTINCT session_id) AS n, count(*) AS runs FROM client_runs WHERE tier = 2");
    assert_eq!(sessions, [json!({"n": 1, "runs": 1})]);
    let counted = workspace.rows("SELECT count(*) AS n FROM cooldown_actions WHERE service = 'jellyfin'");
    assert_eq!(counted, [json!({"n": 3})]);
    let kept: Vec<_> = std::fs::read_dir(workspace.path("state/waiting")).unwrap().collect();
    assert!(kept.is_empty(), "its transcript is not kept any longer: {kept:?}");
}

#[test]
fn the_model_reads_why_a_restart_was_refused() {
    let workspace = workspace("30m");
    let ran = rounds(&workspace, &["refuse", "1", "--note", "the disk is full, wait for Anna"]);
    assert_eq!(workspace.marks("docker"), ["restart jellyfin"; 2], "{ran:#?}");
    assert!(ran.stderr.contains("wait for Anna") || ran.stdout.contains("wait for Anna"), "{ran:#?}");
}

#[test]
fn a_question_without_an_answer_ends_at_its_timeout() {
    let workspace = workspace("8s");
    let ran = rounds(&workspace, &[]);
    assert_eq!(workspace.marks("docker"), ["restart jellyfin"; 2], "{ran:#?}");
}

#[test]
fn a_session_whose_kept_transcript_has_changed_is_not_resumed() {
    let workspace = workspace("30m");
    Program::opsctl(&workspace).args(["cooldown", "record", "jellyfin"]).run();
    workspace.sql(
        "INSERT INTO client_runs (session_id, tier, model, started_at, outcome, waiting_call, transcript)
         VALUES ('s1', 2, 'sonnet', '2026-03-21T14:00:00Z', 'waiting', 'toolu_1', 'not its digest')",
    );
    workspace.write("state/waiting/s1/-app/s1.jsonl", "{}\n");
    let ran = Program::opsctl(&workspace).args(["session", "--resume", "s1"]).run();
    assert_eq!(ran.exit_code, Some(1));
    assert!(ran.stderr.contains("the session cannot go on: the copy of the transcript in "), "{ran:?}");
    let run = workspace.rows("SELECT outcome FROM client_runs WHERE session_id = 's1'");
    assert_eq!(run, [json!({"outcome": "failed"})]);
    let events =
        workspace.rows("SELECT level FROM events WHERE message LIKE 'Session of tier 2 cannot go on: %'");
    assert_eq!(events, [json!({"level": "critical"})]);
    let again = Program::opsctl(&workspace).args(["session", "--resume", "s1"]).run();
    assert_eq!(
        again.stderr,
        "opsctl: no session `s1` waits for a person; `opsctl approvals` lists those that do\n"
    );
}
