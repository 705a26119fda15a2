//! Secrets in the output of tools: the model reads the rest of the output, and never the secret.

use crate::mcp_server::mcp_server;
use crate::support::{Finished, Session, bash, tool};
use serde_json::json;

const SECRET: &str = "hunter2-in-the-output";

const INSPECT: &str =
    r#"echo '[{"Name": "/web", "Config": {"Env": ["DB_USER=app", "DB_PASSWORD=hunter2-in-the-output"]}}]'"#;

const CONFIG: &str = "listen = 8080\npassword = hunter2-in-the-output\nlevel = debug\n";

/// What the tool of the MCP server does: it prints a password.
const PRINT: &str = r#"answer '{"content":[{"type":"text","text":"note 7\napi_token: hunter2-in-the-output\nend of note"}]}'"#;

fn session(policy: &str) -> Session {
    let server = json!({"mcpServers": {"notes": {"command": "notes-server"}}});
    Session::new()
        .hosts_yaml(&format!("services: {{jellyfin: {{}}}}\n{policy}"))
        .stub("notes-server", &mcp_server("show", PRINT))
        .file("mcp.json", &server.to_string())
        .client_arguments(["--mcp-config", "../mcp.json"])
        .tools("Bash,Read,Grep,mcp__notes__show")
        .stub("docker", INSPECT)
        .file("project/app.conf", CONFIG)
}

#[track_caller]
fn assert_hidden(finished: &Finished) {
    for request in finished.requests() {
        let body = request.body.to_string();
        assert!(!body.contains(SECRET), "{body}");
    }
}

#[test]
fn the_model_reads_the_output_of_each_tool_without_its_secrets() {
    let session = session("");
    let file = session.workspace().project().join("app.conf").display().to_string();
    let finished = session
        .step(bash("docker inspect web"))
        .step(bash("cat app.conf"))
        .step(tool("Read", &json!({"file_path": file})))
        .step(tool("Grep", &json!({"pattern": "password|level", "path": ".", "output_mode": "content"})))
        .step(tool("mcp__notes__show", &json!({})))
        .run();
    let expected: [&[&str]; 5] = [
        &["\"Name\": \"/web\"", "DB_USER=app", "DB_PASSWORD=[redacted]"],
        &["listen = 8080", "password = [redacted]", "level = debug"],
        &["listen = 8080", "password = [redacted]", "level = debug"],
        &["password = [redacted]", "level = debug"],
        &["note 7", "api_token: [redacted]", "end of note"],
    ];
    assert_eq!(finished.tool_results().len(), expected.len());
    for (result, parts) in finished.tool_results().iter().zip(expected) {
        result.assert_ran();
        for part in parts {
            assert!(result.shown.contains(part), "{}: {part} is not in {}", result.tool, result.shown);
        }
    }
    assert_hidden(&finished);
    assert!(finished.shown_at_end().contains("opsctl has replaced secrets in this output"));
}

#[test]
fn with_redact_output_false_the_model_reads_the_output_unchanged() {
    let finished = session("policy: {redact_output: false}\n").step(bash("docker inspect web")).run();
    assert!(finished.tool_result(0).shown.contains(SECRET));
}

#[test]
fn a_resumed_session_reads_no_secret_from_its_transcript() {
    let first = session("").step(bash("docker inspect web")).run();
    assert_hidden(&first);
    let (id, calls) = (first.session_id().to_owned(), first.tool_calls());
    let resumed = Session::continuing(first.into_workspace()).resuming(&id, calls).prompt("go on").run();
    assert!(resumed.shown_at_end().contains("DB_PASSWORD=[redacted]"), "{}", resumed.shown_at_end());
    assert_hidden(&resumed);
}

/// Documented as not covered: docs/policy.md.
#[test]
fn the_output_of_a_command_that_fails_reaches_the_model() {
    let finished = session("").step(bash("cat app.conf; exit 3")).run();
    assert!(finished.tool_result(0).shown.contains(SECRET));
}

#[test]
fn long_output_is_redacted_in_the_preview_and_when_its_file_is_read() {
    let mut read = false;
    let finished = session("")
        .step(bash(
            "cat app.conf; for n in $(seq 4000); do echo \"line $n of the output\"; done; cat app.conf",
        ))
        .answering(move |request| {
            let shown = request.conversation();
            let (_, path) = shown.split_once("Full output saved to: ").filter(|_| !read)?;
            read = true;
            let path = path.split_whitespace().next().unwrap();
            Some(tool("Read", &json!({"file_path": path, "offset": 4000, "limit": 20})))
        })
        .run();
    assert!(finished.tool_result(0).shown.contains("password = [redacted]"), "{:?}", finished.tool_result(0));
    assert!(finished.tool_result(1).shown.contains("password = [redacted]"), "{:?}", finished.tool_result(1));
    assert_hidden(&finished);
}

/// The client has no tool for the output of a background task; it names a file.
#[test]
fn the_output_of_a_background_task_is_redacted_when_its_file_is_read() {
    let mut read = false;
    let finished = session("")
        .step(tool("Bash", &json!({"command": "cat app.conf", "run_in_background": true})))
        .step(bash("sleep 1"))
        .answering(move |request| {
            let shown = request.conversation();
            let (_, path) = shown.split_once("<output-file>").filter(|_| !read)?;
            read = true;
            let (path, _) = path.split_once("</output-file>")?;
            Some(tool("Read", &json!({"file_path": path})))
        })
        .run();
    let results = finished.tool_results().iter();
    let shown: String = results.map(|result| result.shown.as_str()).collect();
    assert!(shown.contains("password = [redacted]") && shown.contains("level = debug"), "{shown}");
    assert_hidden(&finished);
}
