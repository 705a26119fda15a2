//! The Stop hook: a session that acted on services does not end before they are verified.

use crate::guard::guarded;
use crate::support::{Finished, Program, Session, Workspace, bash, text, tool, verdict};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

const RESTART: &str = "docker restart jellyfin";

/// A session that is verified by the hook only and with a short grace period, whose services are containers, for which the
/// stub `docker` prints the content of the file `status`.
fn verified(status: &str) -> Session {
    Session::new()
        .hosts_yaml(
            "{services: {jellyfin: {}, adguard: {containers: [adguardhome]}},
              policy: {restart: {limit: 9, window: 4h}, verify: {mode: command, grace: 1s, deadline: 10s}}}",
        )
        .stub("docker", "if [ \"$1\" = ps ]; then cat \"$CLAUDEOPS_STATE_DIR/status\"; fi")
        .file("state/status", status)
}

fn says(status: &str) -> String {
    format!("echo '{status}' > ../state/status")
}

fn events(finished: &Finished, level: &str) -> Vec<String> {
    let query =
        format!("SELECT service || ': ' || message AS event FROM events WHERE level = '{level}' ORDER BY id");
    finished.rows(&query).iter().map(|row| row["event"].as_str().unwrap().to_owned()).collect()
}

/// The number of times that the model was asked to continue.
fn times_blocked(finished: &Finished) -> usize {
    finished.shown_at_end().matches("Stop hook feedback:\nVerification failed (attempt ").count()
}

#[test]
fn a_session_without_actions_ends_silently() {
    let finished = verified("Exited (1)").commands(["docker logs jellyfin"]).step(text("all is well")).run();
    assert_eq!(finished.result(), "all is well");
    assert_eq!(finished.marks("docker"), ["logs jellyfin"], "nothing is checked");
    assert_eq!(finished.rows("SELECT * FROM events"), [Value::Null; 0]);
}

#[test]
fn a_session_with_healthy_services_ends_and_is_recorded() {
    let finished = verified("Up 2 seconds").step(bash(RESTART)).step(text("all is well")).run();
    assert_eq!((finished.result().as_str(), times_blocked(&finished)), ("all is well", 0));
    assert_eq!(events(&finished, "info"), ["jellyfin: Verified healthy after remediation"]);
    assert!(events(&finished, "critical").is_empty());
    let notices = finished.rows("SELECT level, title, body, format FROM notices");
    assert_eq!(notices.len(), 1, "{notices:?}");
    let notice = &notices[0];
    assert_eq!(
        (&notice["level"], &notice["title"]),
        (&json!("info"), &json!("jellyfin: repaired and healthy"))
    );
    let body = notice["body"].as_str().unwrap();
    assert!(
        body.starts_with("- jellyfin restarted, healthy after ") && body.contains(" s, 1 of 9 used\n"),
        "{body}"
    );
    assert_eq!(notice["format"], "markdown");
}

#[test]
fn only_repairs_since_the_last_verification_are_notified() {
    let workspace = Workspace::new();
    workspace.render(
        "{hosts: {ie01: {address: 127.0.0.1}}, services: {jellyfin: {host: ie01}, adguard: {}},
          policy: {verify: {mode: command, grace: 1s}}}",
    );
    workspace.put_stub("docker", "[ \"$1\" != ps ] || echo Up 2 seconds");
    let stop = || Program::opsctl(&workspace).args(["hook", "stop"]).stdin("{\"session_id\": \"s\"}").run();
    for service in ["jellyfin", "adguard"] {
        let call = json!({"session_id": "s", "tool_name": "Bash", "tool_use_id": service, "cwd": "/app",
                          "tool_input": {"command": format!("docker restart {service}")}});
        for event in ["pre-tool-use", "post-tool-use"] {
            let ran = Program::opsctl(&workspace).args(["hook", event]).stdin(&call.to_string()).run();
            assert_eq!(ran.exit_code, Some(0), "{ran:?}");
        }
        assert_eq!(stop().exit_code, Some(0));
        assert_eq!(stop().exit_code, Some(0));
        // Times of the ledger have whole seconds.
        std::thread::sleep(Duration::from_millis(1100));
    }
    let bodies = workspace.rows("SELECT body FROM notices ORDER BY id");
    let bodies: Vec<&str> = bodies.iter().filter_map(|row| row["body"].as_str()?.lines().next()).collect();
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    assert!(bodies[0].starts_with("- jellyfin restarted on ie01, ") && bodies[0].ends_with(", 1 of 2 used"));
    assert!(bodies[1].starts_with("- adguard restarted, "), "{bodies:?}");
}

#[test]
fn a_stop_is_blocked_with_the_failed_checks_until_they_are_repaired() {
    let finished = verified("Exited (1) 3 seconds ago")
        .step(bash(RESTART))
        .step(text("done"))
        .step(bash(&says("Up 1 second")))
        .step(text("now it is well"))
        .run();
    assert_eq!((finished.result().as_str(), times_blocked(&finished)), ("now it is well", 1));
    let shown = finished.shown_at_end();
    assert!(shown.contains("container jellyfin: not_running, it is \"Exited (1) 3 seconds ago\""), "{shown}");
    let warning = "jellyfin: Unhealthy after remediation (attempt 1 of 3): container jellyfin: not_running";
    assert!(
        events(&finished, "warning").iter().any(|event| event.starts_with(warning)),
        "{:?}",
        events(&finished, "warning")
    );
    assert_eq!(events(&finished, "info"), ["jellyfin: Verified healthy after remediation"]);
}

#[test]
fn after_three_attempts_the_session_ends_and_operators_are_notified() {
    let ill = verified("Exited (1)").operators_listen().step(bash(RESTART));
    let finished = ["one", "two", "three", "four", "five"]
        .into_iter()
        .fold(ill, |session, said| session.step(text(said)))
        .run();
    assert_eq!((finished.result().as_str(), times_blocked(&finished)), ("four", 3));
    let critical = events(&finished, "critical");
    assert_eq!(critical.len(), 1, "{critical:?}");
    assert!(
        critical[0]
            .starts_with("jellyfin: Needs human attention: still unhealthy after 3 attempts: container"),
        "{critical:?}"
    );
    let notice = &finished.rows("SELECT level, title, body FROM notices")[0];
    assert_eq!(
        (&notice["level"], &notice["title"]),
        (&json!("critical"), &json!("jellyfin: needs human attention"))
    );
    let delivered = finished.notifications();
    assert!(
        delivered.iter().any(|output| output["title"].as_str().unwrap().contains("needs human attention")),
        "{delivered:?}"
    );
}

#[test]
fn a_service_that_is_restarted_again_is_verified_again() {
    let finished = verified("Exited (1)")
        .step(bash(RESTART))
        .step(text("done"))
        .step(bash(RESTART))
        .step(text("done again"))
        .step(bash(&says("Up 1 second")))
        .step(text("well"))
        .run();
    assert_eq!((finished.result().as_str(), times_blocked(&finished)), ("well", 2));
}

/// The attempts are counted in the ledger: another process, another session of the client with the same name.
#[test]
fn a_healthy_verification_resets_the_attempts() {
    let stop = |workspace: &Workspace| {
        let input = json!({"session_id": "s", "hook_event_name": "Stop", "stop_hook_active": true});
        Program::opsctl(workspace).args(["hook", "stop"]).stdin(&input.to_string()).run()
    };
    let restart = |workspace: &Workspace, id: &str| {
        let input =
            json!({"session_id": "s", "tool_use_id": id, "tool_input": {"command": RESTART}}).to_string();
        for event in ["pre-tool-use", "post-tool-use"] {
            assert_eq!(
                Program::opsctl(workspace).args(["hook", event]).stdin(&input).run().exit_code,
                Some(0)
            );
        }
    };
    let workspace = verified("Exited (1)").run().into_workspace();
    let is = |status: &str| fs::write(workspace.path("state/status"), status).unwrap();
    restart(&workspace, "t1");
    for attempt in 1..=2 {
        let ran = stop(&workspace);
        assert_eq!(ran.exit_code, Some(2), "{ran:?}");
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(json["decision"], "block");
        assert_eq!(ran.stderr, format!("{}\n", json["reason"].as_str().unwrap()));
        assert!(
            ran.stderr.starts_with(&format!(
                "Verification failed (attempt {attempt} of 3).\nService jellyfin still unhealthy:"
            )),
            "{ran:?}"
        );
    }
    is("Up 1 second");
    assert_eq!(stop(&workspace).exit_code, Some(0));
    is("Exited (1)");
    assert_eq!(stop(&workspace).exit_code, Some(0), "nothing was done since it was found healthy");
    restart(&workspace, "t2");
    for _ in 1..=3 {
        assert_eq!(stop(&workspace).exit_code, Some(2));
    }
    let ran = stop(&workspace);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (Some(0), ""), "given up");
    assert!(ran.stderr.contains("verification given up after 3 attempts: jellyfin"), "{ran:?}");
    let ran = stop(&workspace);
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (Some(0), ""), "reported once");
    restart(&workspace, "t3");
    assert_eq!(stop(&workspace).exit_code, Some(0), "without a success there are no new attempts");
    assert_eq!(workspace.rows("SELECT id FROM events WHERE level = 'critical'").len(), 2);
}

#[test]
fn a_ledger_that_cannot_be_read_does_not_block_the_stop() {
    let workspace = verified("Exited (1)").run().into_workspace();
    workspace.write("state/claudeops.db", &"no database".repeat(100));
    let ran = Program::opsctl(&workspace).args(["hook", "stop"]).stdin("{\"session_id\": \"s\"}").run();
    assert_eq!((ran.exit_code, ran.stdout.as_str(), ran.stderr.lines().count()), (Some(0), "", 1), "{ran:?}");
}

#[test]
fn a_subagent_that_stops_verifies_nothing() {
    let brief = json!({"description": "restart", "prompt": "restart it", "subagent_type": "general-purpose"});
    let finished = verified("Exited (1)")
        .tools("Bash,Read,Task")
        .step(tool("Task", &brief))
        .subagent("restart it", [bash(RESTART), text("restarted")])
        .step(bash(&says("Up 1 second")))
        .step(text("well"))
        .run();
    assert_eq!(times_blocked(&finished), 0);
    assert_eq!(
        events(&finished, "info"),
        ["jellyfin: Verified healthy after remediation"],
        "at the end of the session"
    );
}

#[test]
fn the_agents_verifier_may_run_the_same_checks() {
    let finished = Session::new()
        .hosts_yaml("{services: {jellyfin: {}}, policy: {verify: {mode: agent, grace: 1s, deadline: 10s}}}")
        .stub("docker", "if [ \"$1\" = ps ]; then echo 'Up 1 second'; fi")
        .env("CLAUDE_SESSION_ID", "operator-7")
        .step(bash(RESTART))
        .step(text("done"))
        .verifier(bash("opsctl verify --session \"$CLAUDE_CODE_SESSION_ID\" > ../state/verified; echo $? >> ../state/verified"))
        .verifier(verdict(true, ""))
        .run();
    let asked = finished.verifier_requests();
    assert!(
        asked[0].conversation().contains("opsctl verify --session SESSION_ID"),
        "{}",
        asked[0].conversation()
    );
    assert_eq!(
        finished.read("state/verified"),
        "jellyfin: healthy\n  container jellyfin: healthy, it is \"Up 1 second\"\n0\n"
    );
}

#[test]
fn who_verifies_follows_from_the_mode_and_the_tier() {
    let render = |policy: &str, arguments: &[&str]| -> (bool, Option<u64>, Option<u64>) {
        let workspace = Workspace::new();
        workspace.write("hosts.yaml", &format!("policy: {{verify: {policy}}}"));
        let ran = Program::opsctl(&workspace).args(["render", "--empty"]).args(arguments).run();
        assert_eq!(ran.exit_code, Some(0), "{}", ran.stderr);
        let settings: Value = serde_json::from_str(&workspace.read("project/.claude/settings.json")).unwrap();
        let hooks = settings["hooks"]["Stop"][0]["hooks"].as_array().unwrap().clone();
        let timeout = |kind: &str| {
            hooks.iter().find(|hook| hook["type"] == kind).map(|hook| hook["timeout"].as_u64().unwrap())
        };
        (
            hooks.iter().any(|hook| hook["args"] == json!(["hook", "stop"])),
            timeout("command"),
            timeout("agent"),
        )
    };
    assert_eq!(render("{}", &[]), (true, Some(90), Some(120)), "any tier may come");
    assert_eq!(render("{}", &["--tier", "1"]), (true, Some(90), None));
    assert_eq!(render("{}", &["--tier", "2"]), (true, Some(90), Some(120)));
    assert_eq!(render("{mode: both, deadline: 5m}", &["--tier", "1"]), (true, Some(330), Some(360)));
    // The hook is rendered for its other purposes at the end of a turn; it verifies nothing then.
    assert_eq!(render("{mode: agent}", &["--tier", "3"]), (true, Some(90), Some(120)));
    assert_eq!(render("{mode: command}", &["--tier", "3"]), (true, Some(90), None));
}

/// The hook's own deadline comes before the client's, so that it can still answer.
#[test]
fn a_check_that_hangs_ends_before_the_client_gives_up() {
    let finished = Session::new()
        .hosts_yaml("{services: {jellyfin: {}}, policy: {verify: {mode: command, grace: 1s, deadline: 2s, attempts: 1}}}")
        .stub("docker", "if [ \"$1\" = ps ]; then sleep 100; fi")
        .step(bash(RESTART))
        .step(text("done"))
        .step(text("still done"))
        .timeout(Duration::from_mins(2))
        .run();
    assert_eq!((finished.result().as_str(), times_blocked(&finished)), ("still done", 1));
    assert!(finished.shown_at_end().contains("container jellyfin: timeout"), "{}", finished.shown_at_end());
    assert!(finished.elapsed < Duration::from_secs(40), "{:?}", finished.elapsed);
}

#[test]
fn the_verifier_gets_the_rendered_prompt_and_blocks_the_stop() {
    let finished = guarded()
        .step(bash("docker restart jellyfin"))
        .step(text("all is well"))
        .verifier(verdict(false, "jellyfin answers 502"))
        .step(bash("docker logs jellyfin"))
        .step(text("now all is well"))
        .verifier(verdict(true, ""))
        .run();

    let rendered = finished.read("project/.claude/hooks/verify-remediation.md");
    let asked = finished.verifier_requests();
    assert_eq!(asked.len(), 2, "once for each time that the session wanted to end");
    for request in &asked {
        let shown = request.conversation();
        for part in rendered.split("$ARGUMENTS") {
            assert!(shown.contains(part.trim()), "`{part}` is not in what the verifier was shown: {shown}");
        }
        assert!(!shown.contains("$ARGUMENTS"), "the hook's input is put in: {shown}");
        assert!(shown.contains(finished.session_id()), "{shown}");
    }
    assert!(finished.shown_at_end().contains("jellyfin answers 502"));
    assert_eq!(finished.marks("docker"), ["restart jellyfin", "logs jellyfin"]);
    assert_eq!(finished.result(), "now all is well");
}
