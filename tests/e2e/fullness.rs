//! Context window warnings in the requests to the model, each once.

use crate::guard::guarded;
use crate::support::{Finished, Session, bash, client, earlier_client, text, together, too_long, tool};
use serde_json::json;

/// A model with a window of 200,000 tokens.
const MODEL: [&str; 2] = ["--model", "claude-sonnet-4-5"];

/// The warnings: the number of the request, and the level in percent.
fn warned(finished: &Finished) -> Vec<(usize, String)> {
    let requests = finished.agent_requests();
    let mut seen = 0;
    let mut warned = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let conversation = request.conversation();
        let warnings: Vec<&str> = conversation.matches("Context at ").collect();
        if warnings.len() > seen {
            let last = conversation.rsplit("Context at ").next().unwrap();
            warned.push((at, last.split('%').next().unwrap().to_owned()));
        }
        assert!(warnings.len() - seen <= 1, "one at a time: {conversation}");
        seen = warnings.len();
    }
    warned
}

fn expected(rows: &[(usize, &str)]) -> Vec<(usize, String)> {
    rows.iter().map(|(at, level)| (*at, (*level).to_owned())).collect()
}

#[test]
fn each_level_is_reported_once_in_the_next_request() {
    let finished = guarded()
        .client_arguments(MODEL)
        .step(bash("echo 1").filling(100_000))
        .step(bash("echo 2").filling(121_000))
        .step(bash("echo 3").filling(130_000))
        .step(together([bash("echo 4"), bash("echo 5")]).filling(161_000))
        .step(tool("Read", &json!({"file_path": "/etc/hostname"})).filling(185_000))
        .step(bash("echo 6").filling(191_000))
        .step(bash("echo 7").filling(195_000))
        .step(text("The end.").filling(196_000))
        .run();
    // The request after the answer that filled it so far.
    assert_eq!(warned(&finished), expected(&[(2, "60"), (4, "80"), (5, "90"), (6, "95")]));
    let shown = finished.shown_at_end();
    assert!(
        shown.contains("prepare to transition. 161,000 of 200,000 tokens (80%) of this session are used."),
        "{shown}"
    );
    assert!(shown.contains("opsctl handoff write"), "{shown}");
    assert_eq!(finished.rows("SELECT context_level FROM session_reminders"), [json!({"context_level": 95})]);
}

#[test]
fn a_jump_is_reported_as_one_level_and_a_final_jump_gets_one_more_turn() {
    let jump =
        guarded().client_arguments(MODEL).step(bash("echo 1").filling(184_000)).step(text("done")).run();
    assert_eq!(warned(&jump), expected(&[(1, "90")]));
    // The last answer itself: without that turn nothing of it could be handed over.
    let last = guarded()
        .client_arguments(MODEL)
        .step(text("a long report").filling(165_000))
        .step(text("nothing is left").filling(166_000))
        .run();
    assert_eq!(warned(&last), expected(&[(1, "80")]));
    assert_eq!(last.result(), "nothing is left");
    let early = guarded().client_arguments(MODEL).step(text("a report").filling(130_000)).run();
    assert_eq!(early.agent_requests().len(), 1, "that is no reason for a turn");
    // The next prompt gets the warning, as in a session that continues.
    let next = Session::continuing(early.into_workspace())
        .client_arguments(MODEL)
        .client_arguments(["--continue"])
        .step(text("well"))
        .run();
    assert_eq!(warned(&next), expected(&[(0, "60")]));
}

#[test]
fn a_compacted_session_is_warned_again_by_its_new_usage() {
    let full = guarded()
        .client_arguments(MODEL)
        .step(bash("echo 1").filling(170_000))
        .step(text("done").filling(171_000))
        .run();
    assert_eq!(warned(&full), expected(&[(1, "80")]));
    let next = |workspace, prompt: &str| {
        Session::continuing(workspace).prompt(prompt).client_arguments(MODEL).client_arguments(["--continue"])
    };
    let compacted = next(full.into_workspace(), "/compact").step(text("a summary").filling(172_000)).run();
    let again = next(compacted.into_workspace(), "go on")
        .step(bash("echo 2").filling(50_000))
        .step(bash("echo 3").filling(165_000))
        .step(text("done").filling(166_000))
        .run();
    let requests = again.agent_requests();
    let of_it = |at: usize| {
        let conversation = requests[at].conversation();
        conversation.rsplit("go on").next().unwrap().matches("Context at 80%").count()
    };
    assert_eq!([of_it(0), of_it(1), of_it(2)], [0, 0, 1], "{}", again.shown_at_end());
}

#[test]
fn an_automatically_compacted_session_is_warned_again() {
    let finished = guarded()
        .client_arguments(MODEL)
        .step(bash("seq 1 3000").filling(150_000))
        .step(bash("seq 1 3000").filling(165_000))
        .step(bash("seq 1 3000").filling(170_000))
        .step(too_long())
        .step(text("<summary>All was well.</summary>"))
        .step(bash("echo 1").filling(50_000))
        .step(bash("echo 2").filling(165_000))
        .step(text("done").filling(166_000))
        .run();
    let requests = finished.agent_requests();
    let conversations: Vec<String> = requests.iter().map(|request| request.conversation()).collect();
    let summary = conversations.iter().position(|asked| asked.contains("All was well.")).expect("no summary");
    let counts: Vec<usize> = conversations[summary..]
        .iter()
        .map(|asked| asked.rsplit("All was well.").next().unwrap().matches("Context at 80%").count())
        .collect();
    assert_eq!(counts, [0, 0, 1], "{}", finished.shown_at_end());
}

#[test]
fn a_model_with_a_large_window_is_warned_later() {
    for model in ["claude-sonnet-4-5[1m]", "haiku"] {
        let finished = guarded()
            .client_arguments(["--model", model])
            .step(bash("echo 1").filling(250_000))
            .step(bash("echo 2").filling(590_000))
            .step(bash("echo 3").filling(610_000))
            .step(text("done").filling(620_000))
            .run();
        assert_eq!(warned(&finished), expected(&[(3, "60")]), "{model}");
    }
}

#[test]
fn a_subagent_gets_no_context_warning() {
    let brief = json!({"description": "look", "prompt": "count the containers",
                       "subagent_type": "general-purpose", "run_in_background": false});
    let finished = guarded()
        .tools("Bash,Read,Task")
        .client_arguments(MODEL)
        .step(tool("Task", &brief).filling(165_000))
        .subagent(
            "count the containers",
            [
                bash("docker images").filling(20_000),
                bash("docker ps").filling(50_000),
                text("counted").filling(31_000),
            ],
        )
        .step(text("done").filling(170_000))
        .run();
    for request in finished.agent_requests() {
        let of_the_subagent = request.opening().contains("count the containers");
        let warned = request.conversation().contains("Context at");
        assert!(!warned || !of_the_subagent, "{}", request.conversation());
    }
    assert!(finished.shown_at_end().contains("Context at 80%"), "{}", finished.shown_at_end());
}

#[test]
fn a_background_session_is_blocked_once_to_report() {
    let silent = guarded()
        .env("CLAUDE_SESSION_MODE", "background")
        .step(text("All is well."))
        .step(text("[EVENT:info] All is well."))
        .run();
    let requests = silent.agent_requests();
    assert_eq!(requests.len(), 2, "{}", silent.shown_at_end());
    assert!(requests[1].conversation().contains("[CLAUDE OS SYS: INFO]: Reminder - Ping before ending"));
    assert_eq!(silent.result(), "[EVENT:info] All is well.");
    let stubborn = guarded()
        .env("CLAUDE_SESSION_MODE", "background")
        .step(text("All is well."))
        .step(text("All is well, as I said."))
        .run();
    assert_eq!(stubborn.agent_requests().len(), 2, "it is asked once");
    let report = r#"{"schema_version": 1, "recommended_tier": 2, "services_affected": ["jellyfin"], "check_results": [{"service": "jellyfin", "check_type": "http", "status": "unhealthy"}], "investigation_findings": "it is down"}"#;
    let reported = guarded()
        .env("CLAUDE_SESSION_MODE", "background")
        .step(bash(&format!("opsctl handoff write <<'JSON'\n{report}\nJSON")))
        .step(text("Handed over."))
        .run();
    reported.tool_result(0).assert_ran();
    assert_eq!(reported.agent_requests().len(), 2, "{}", reported.shown_at_end());
    assert_eq!(guarded().step(text("All is well.")).run().agent_requests().len(), 1, "an attended session");
}

#[test]
fn earlier_client_releases_pass_warnings_to_the_model() {
    for client in [client(), earlier_client("OLD_CLIENT_VERSION"), earlier_client("MIDDLE_CLIENT_VERSION")] {
        let finished = guarded()
            .client(&client)
            .client_arguments(MODEL)
            .step(bash("echo 1").filling(125_000))
            .step(bash("echo 2").filling(130_000))
            .step(text("a report").filling(165_000))
            .step(text("nothing is left").filling(166_000))
            .run();
        let seen = warned(&finished);
        assert_eq!(seen, expected(&[(1, "60"), (3, "80")]), "{}", client.display());
    }
}
