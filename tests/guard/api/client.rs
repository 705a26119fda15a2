//! The real client behind the proxy.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::Value;

use super::proxy::KEY;
use crate::support::{Finished, Session, text};

/// The port of the guard in the session's own network.
const PORT: u16 = 8081;

/// A session whose client reaches the API through a guard, which alone has the key. `credential` is what the client's
/// environment contains.
fn behind_a_guard(policy: &str, credential: &str) -> Session {
    let session = Session::new();
    let workspace = session.workspace();
    workspace.write("guard/key", KEY);
    workspace.write("guard/hosts.yaml", &format!("hosts: {{}}\nservices: {{}}\npolicy: {policy}\n"));
    let at = |inside: &str| workspace.path(inside).display().to_string();
    let script = format!(
        "#!/bin/sh\n\
         env -i PATH=\"$PATH\" CLAUDEOPS_STATE_DIR='{state}' CLAUDEOPS_HOSTS='{hosts}' CLAUDEOPS_API_KEY_FILE='{key}' \\\n\
             CLAUDEOPS_API_UPSTREAM=\"$ANTHROPIC_BASE_URL\" opsctl serve --api 127.0.0.1:{PORT} >'{log}' 2>&1 &\n\
         guard=$!\n\
         for _ in $(seq 100); do grep -q API: '{log}' && break; sleep 0.05; done\n\
         unset ANTHROPIC_API_KEY\n\
         {credential} ANTHROPIC_BASE_URL=http://127.0.0.1:{PORT} '{client}' \"$@\"\n\
         code=$?\n\
         kill $guard; wait $guard\n\
         echo \"the guard ended with $?\" >>'{log}'\n\
         exit $code\n",
        state = at("state"),
        hosts = at("guard/hosts.yaml"),
        key = at("guard/key"),
        log = at("guard/log"),
        client = crate::support::client().display(),
    );
    let wrapper = workspace.path("guard/client");
    fs::write(&wrapper, script).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    session.client(&wrapper).timeout(Duration::from_mins(2))
}

fn log(finished: &Finished) -> String {
    finished.read("guard/log")
}

fn result(finished: &Finished) -> &Value {
    finished.stream.iter().rfind(|line| line["type"] == "result").unwrap()
}

#[test]
fn a_session_works_without_the_key_and_cannot_find_it() {
    // A pattern that does not match the command itself.
    let pattern = KEY.replacen("the-guard", "[t]he-guard", 1);
    assert_ne!(pattern, KEY);
    let look = format!(
        "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '{pattern}'"
    );
    for credential in ["ANTHROPIC_AUTH_TOKEN=none", "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_OAUTH_TOKEN=none"]
    {
        let finished = behind_a_guard("{}", credential).commands([look.as_str()]).step(text("done")).run();
        assert_eq!(
            (finished.exit_code, finished.result().as_str()),
            (0, "done"),
            "{credential}: {}",
            log(&finished)
        );
        let shown = &finished.tool_result(0).shown;
        assert!(!shown.contains("of-the-guard"), "{shown}");
        assert!(shown.lines().any(|line| line.trim() == "0"), "{shown}");
        assert_eq!(
            log(&finished),
            format!("API: http://127.0.0.1:{PORT}\nthe guard ended with 0\n"),
            "{credential}"
        );
        let rows = finished.rows("SELECT DISTINCT session_id FROM api_requests");
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0]["session_id"], finished.session_id());
    }
}

#[test]
fn the_cost_is_what_the_client_states_from_its_own_prices() {
    for model in ["haiku", "sonnet", "opus"] {
        let finished = behind_a_guard("{}", "ANTHROPIC_AUTH_TOKEN=none")
            .client_arguments(["--model", model])
            .commands(["echo 1", "echo 2"])
            .step(text("done").filling(150_000))
            .run();
        let stated = result(&finished)["total_cost_usd"].as_f64().unwrap();
        let row =
            &finished.rows("SELECT sum(cost_micros) / 1e6 AS usd, count(*) AS requests FROM api_requests")[0];
        let (counted, requests) = (row["usd"].as_f64().unwrap(), row["requests"].as_f64().unwrap());
        println!("{model}: {counted} counted, {stated} stated by the client, {requests} requests");
        assert!(stated > 0.0 && requests >= 3.0);
        // Each request is rounded up to a millionth.
        assert!(
            counted >= stated - 1e-9 && counted <= stated + requests * 1e-6,
            "{model}: {counted}, {stated}"
        );
    }
}

#[test]
fn the_client_shows_the_refusal_and_does_not_retry() {
    // The model is priced so that a request with 100,000 tokens of input costs a dollar; 5 more are written.
    let policy = "{spend: {session: 5, prices: {claude: {input: 10, output: 0, cache_read: 10}}}}";
    let mut session = behind_a_guard(policy, "ANTHROPIC_AUTH_TOKEN=none");
    for number in 1..=8 {
        session = session.step(crate::support::bash(&format!("echo {number}")).filling(100_005));
    }
    let finished = session.run();
    assert_eq!(finished.agent_requests().len(), 5);
    let result = result(&finished);
    let shown = result["result"].as_str().unwrap();
    assert!(
        shown.starts_with("API Error: 402 opsctl: the spending limit is reached: $5.00 of $5.00 in this session (policy.spend.session)."),
        "{shown}"
    );
    assert_eq!((&result["is_error"], &result["api_error_status"]), (&true.into(), &402.into()));
    assert_eq!(finished.exit_code, 1);
    println!("ended after {:?}", finished.elapsed);
    assert!(finished.elapsed < Duration::from_secs(30), "{:?}", finished.elapsed);
    let events = finished.rows("SELECT level || ' ' || message AS text FROM events ORDER BY id");
    let events: Vec<&str> = events.iter().map(|row| row["text"].as_str().unwrap()).collect();
    assert_eq!(
        events,
        [
            "warning The spending limit of a session is nearly reached: $4.00 of $5.00 in this session",
            "critical The spending limit of a session is reached: $5.00 of $5.00 in this session",
        ]
    );
}
