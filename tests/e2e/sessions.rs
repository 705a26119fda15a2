//! The records of sessions, with the real client.

use crate::support::{Finished, Session, bash, text, together, tool};
use serde_json::{Value, json};

/// Queries the records from within a session until they are as expected, because the client does not wait for the hook
/// that writes them.
fn seen(state: &str, query: &str) -> String {
    format!(
        "for _ in $(seq 100); do [ \"$(registry \"{query}\")\" = '{state}' ] \
         && echo 'it is {state}' && exit; sleep 0.05; done; exit 1"
    )
}

const STATE: &str = "SELECT state FROM hook_sessions";

fn row(finished: &Finished) -> Value {
    let rows = finished.rows("SELECT * FROM hook_sessions");
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows[0].clone()
}

#[test]
fn a_session_is_in_the_registry_with_every_state_that_it_had() {
    let brief = json!({"description": "look", "prompt": "count the containers",
                       "subagent_type": "general-purpose", "run_in_background": false});
    let of_subagents = "SELECT agent_type || (ended_at IS NULL) FROM hook_subagents";
    let finished = Session::new()
        .hosts_yaml(concat!(
            include_str!("hosts.yaml"),
            "\nprograms: {registry: {effect: reads, matches: [registry x]}}\n"
        ))
        .tier(2)
        .tools("Bash,Read,Task")
        .env("CLAUDE_SESSION_ID", "mine")
        .env("CLAUDE_SESSION_MODE", "mission")
        .env("CLAUDE_SESSION_ROLE", "nurse")
        .env("MISSION_EXECUTION_ID", "m1")
        .stub("ssh", "exit 255")
        // A program that opsctl cannot read: the ledger is a secret file.
        .stub("registry", "sqlite3 -cmd '.timeout 9000' \"$CLAUDEOPS_STATE_DIR/claudeops.db\" \"$1\"")
        .client_arguments(["--disallowedTools", "Bash(helm upgrade:*)"])
        .step(together([
            bash(&seen("tool_active", STATE)),
            bash("ssh ie01 true"),
            bash("docker system prune -f"),
            bash("helm upgrade jellyfin . --dry-run"),
        ]))
        // What was refused or failed leaves nothing open: this call is the only one.
        .step(bash(&seen("1", "SELECT count(*) FROM hook_calls WHERE NOT done")))
        .step(bash("opsctl sessions status 'looking at jellyfin'"))
        .step(tool("Task", &brief))
        .subagent("count the containers", [bash(&seen("general-purpose1", of_subagents)), text("counted")])
        .step(bash(&seen("general-purpose0", of_subagents)))
        .run();
    let output: Vec<&str> = finished.tool_results().iter().map(|result| result.shown.as_str()).collect();
    for expected in ["it is tool_active", "it is 1", "it is general-purpose1", "it is general-purpose0"] {
        assert!(output.iter().any(|shown| shown.contains(expected)), "{expected}: {output:?}");
    }
    let row = row(&finished);
    for (column, value) in [
        ("session_id", json!("mine")),
        ("client_session_id", json!(finished.session_id())),
        ("tier", json!(2)),
        ("mode", json!("mission")),
        ("role", json!("nurse")),
        ("source", json!("startup")),
        ("parent_mission", json!("m1")),
        ("cwd", json!(finished.project().to_str().unwrap())),
        ("state", json!("ended")),
        ("end_reason", json!("other")),
        ("status", json!("looking at jellyfin")),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    assert!(row["model"].is_string(), "{row}");
    assert!(std::path::Path::new(row["transcript"].as_str().unwrap()).exists());
    assert!(0 < row["awake_us"].as_i64().unwrap() && row["awake_us"].as_i64() < row["idle_us"].as_i64());
    assert!(row["idle_us"].as_i64() < row["over_us"].as_i64(), "{row}");
    assert_eq!(finished.rows("SELECT * FROM hook_calls"), [Value::Null; 0]);
    let subagents = finished.rows("SELECT agent_type, ended_at IS NOT NULL AS ended FROM hook_subagents");
    assert_eq!(subagents, [json!({"agent_type": "general-purpose", "ended": 1})]);

    // The same session goes on: it is woken up, and compacted.
    let workspace = finished.into_workspace();
    let other = Session::continuing(workspace)
        .env("CLAUDE_SESSION_ID", "another")
        .env("MISSION_EXECUTION_ID", "m1")
        .step(bash("docker restart jellyfin"))
        .run();
    let woken = Session::continuing(other.into_workspace())
        .env("CLAUDE_SESSION_ID", "mine")
        .env("MISSION_EXECUTION_ID", "m1")
        .prompt("[claude-ops:wake-up]\nWhat has happened?")
        .run();
    let shown = woken.shown_at_end();
    assert!(shown.contains("Container restarted: docker restart jellyfin"), "{shown}");
    assert!(shown.contains("| another | - | ended (other)"), "{shown}");
    let compacted = Session::continuing(woken.into_workspace())
        .env("CLAUDE_SESSION_ID", "mine")
        .prompt("/compact")
        .client_arguments(["--continue"])
        .step(text("a summary"))
        .run();
    let rows = compacted.rows("SELECT session_id, source, state FROM hook_sessions ORDER BY session_id");
    assert_eq!(
        rows,
        [
            json!({"session_id": "another", "source": "startup", "state": "ended"}),
            json!({"session_id": "mine", "source": "compact", "state": "ended"}),
        ]
    );
}
