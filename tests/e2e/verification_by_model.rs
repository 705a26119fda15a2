//! The verification by a model: when it is asked, and how often a session goes on because of it.

use crate::support::{Program, Ran, Role, Session, Step, Workspace, bash, client, text, verdict};
use serde_json::{Value, json};

const RESTART: &str = "docker restart jellyfin";

/// A workspace whose managed settings are rendered, whose only service is a container, for which `docker ps` prints the content of the file
/// `status`.
fn workspace(verify: &str, status: &str) -> (Workspace, Value) {
    let workspace = Workspace::new();
    workspace.write(
        "hosts.yaml",
        &format!("{{services: {{jellyfin: {{}}}}, policy: {{restart: {{limit: 9, window: 4h}}, verify: {verify}}}}}"),
    );
    workspace.put_stub("docker", "if [ \"$1\" = ps ]; then cat \"$CLAUDEOPS_STATE_DIR/status\"; fi");
    workspace.write("state/status", status);
    let file = workspace.path("managed-settings.json");
    let ran = Program::opsctl(&workspace)
        .args(["render", "--out"])
        .args([&workspace.project()])
        .args(["--managed"])
        .args([&file])
        .run();
    assert_eq!(ran.exit_code, Some(0), "{}", ran.stderr);
    let settings = serde_json::from_str(&workspace.read("managed-settings.json")).unwrap();
    (workspace, settings)
}

/// What the models were asked in `opsctl session`.
struct Asked {
    /// The conversations of the agent's requests.
    agent: Vec<String>,
    /// Those of the verifier's.
    verifier: Vec<String>,
    ran: Ran,
}

/// Runs `opsctl session` of a tier with managed settings.
fn session(
    (workspace, settings): &(Workspace, Value),
    tier: u8,
    steps: impl IntoIterator<Item = Step>,
    verifier: impl IntoIterator<Item = Step>,
) -> Asked {
    workspace.put_program("claude", &client());
    let program = Program::opsctl(workspace)
        .args(["session", "--tier", &tier.to_string()])
        .env("CLAUDE_PROJECT_DIR", workspace.project().to_str().unwrap())
        .env("ANTHROPIC_API_KEY", "not-a-key")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .managed_settings(settings)
        .operators_listen()
        .at_tier(tier, steps)
        .verifier(verifier);
    let asked = program.asked();
    let ran = program.run();
    assert_eq!(ran.exit_code, Some(0), "{ran:?}");
    Asked { agent: asked.of(Role::Agent), verifier: asked.of(Role::Verifier), ran }
}

fn events(workspace: &Workspace, level: &str) -> Vec<String> {
    let rows = workspace.rows(&format!("SELECT message FROM events WHERE level = '{level}' ORDER BY id"));
    rows.iter().map(|row| row["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_session_that_acted_is_verified_once_by_a_model_of_tier_1() {
    let place = workspace("{mode: both, grace: 1s}", "Up 2 seconds");
    let asked = session(
        &place,
        2,
        [bash(RESTART), text("all is well")],
        [bash("opsctl verify jellyfin"), bash("docker restart jellyfin"), verdict(true, "")],
    );
    assert_eq!((asked.agent.len(), asked.verifier.len()), (2, 3), "{:?}", asked.ran);
    let shown = asked.verifier.last().unwrap();
    for part in [
        "You verify remediations.",
        "\"last_assistant_message\":\"all is well\"",
        "jellyfin: healthy",
        "Tier 1 may not",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (workspace, _) = &place;
    assert_eq!(workspace.marks("docker").iter().filter(|mark| mark.starts_with("restart")).count(), 1);
    assert!(
        events(workspace, "info").contains(&"The verifier of a model found nothing unhealthy".to_owned())
    );
    assert!(asked.ran.stdout.contains("verifier: ok"), "{}", asked.ran.stdout);
}

#[test]
fn without_an_action_no_model_verifies() {
    for (tier, verify) in [(1, "{mode: both}"), (2, "{mode: both}"), (3, "{mode: agent}"), (2, "{}")] {
        let place = workspace(verify, "Up 2 seconds");
        let asked = session(&place, tier, [bash("docker logs jellyfin"), text("all is well")], []);
        assert_eq!((asked.agent.len(), asked.verifier.len()), (2, 0), "tier {tier}, {verify}");
    }
}

#[test]
fn with_the_hook_alone_no_model_verifies() {
    let place = workspace("{mode: command, grace: 1s}", "Up 2 seconds");
    let asked = session(&place, 2, [bash(RESTART), text("all is well")], []);
    assert_eq!((asked.agent.len(), asked.verifier.len()), (2, 0));
}

#[test]
fn after_the_hook_has_given_up_no_model_verifies() {
    let place = workspace("{mode: both, grace: 1s}", "Exited (1)");
    let asked =
        session(&place, 2, [bash(RESTART), text("one"), text("two"), text("three"), text("four")], []);
    assert_eq!((asked.agent.len(), asked.verifier.len()), (5, 0), "one request for each attempt");
    assert_eq!(asked.ran.notifications.len(), 1, "{:?}", asked.ran.notifications);
}

#[test]
fn an_objection_continues_the_session_at_most_as_often_as_there_are_attempts() {
    let place = workspace("{mode: both, grace: 1s, attempts: 2}", "Up 2 seconds");
    let ill = || verdict(false, "jellyfin answers 502");
    let steps =
        [bash(RESTART), text("one"), bash("docker logs jellyfin"), text("two"), text("three"), text("four")];
    let asked = session(&place, 2, steps, [ill(), ill(), ill(), ill()]);
    assert_eq!((asked.agent.len(), asked.verifier.len()), (5, 3), "{:?}", asked.ran);
    let shown = asked.agent.last().unwrap();
    let reason =
        "Verification failed (attempt 2 of 2).\nA second model looked at your work: jellyfin answers 502";
    assert!(shown.contains(reason), "{shown}");
    let (workspace, _) = &place;
    let critical = events(workspace, "critical");
    assert_eq!(
        critical,
        [
            "Needs human attention: still unhealthy after 2 attempts: the verifier of a model: jellyfin answers 502"
        ]
    );
    assert_eq!(asked.ran.notifications.len(), 2, "repaired, then not: {:?}", asked.ran.notifications);
    let runs = workspace.rows("SELECT outcome, turns FROM client_runs");
    assert_eq!(runs, [json!({"outcome": "completed", "turns": 5})]);
}

#[test]
fn a_verifier_without_an_answer_is_a_warning() {
    let place = workspace("{mode: agent, grace: 1s}", "Up 2 seconds");
    let stuck = (0..40).map(|_| text("hm"));
    let asked = session(&place, 2, [bash(RESTART), text("all is well")], stuck);
    assert_eq!(asked.agent.len(), 2);
    let (workspace, _) = &place;
    let warnings = events(workspace, "warning");
    assert!(
        warnings.iter().any(|event| event.starts_with("The verifier of a model gave no answer: ")),
        "{warnings:?}"
    );
}

/// Settings of a project, for a client that opsctl does not start, contain an agent hook.
#[test]
fn an_agent_hook_objects_at_most_as_often_as_there_are_attempts() {
    for (restarts, status, requests) in
        [(true, "Up 2 seconds", 3), (false, "Up 2 seconds", 3), (true, "Exited (1)", 3)]
    {
        let session = Session::new()
            .hosts_yaml("{services: {jellyfin: {}}, policy: {verify: {mode: both, grace: 1s, attempts: 2}}}")
            .stub("docker", "if [ \"$1\" = ps ]; then cat \"$CLAUDEOPS_STATE_DIR/status\"; fi")
            .file("state/status", status)
            .step(bash(if restarts { RESTART } else { "docker logs jellyfin" }));
        let session =
            (0..9).fold(session, |session, _| session.step(text("done")).verifier(verdict(false, "no")));
        let finished = session.run();
        assert_eq!(finished.agent_requests().len(), 1 + requests, "{status}");
        assert_eq!(finished.verifier_requests().len(), requests, "{status}");
        let critical = finished.rows("SELECT 1 FROM events WHERE level = 'critical'");
        assert_eq!(critical.len(), usize::from(restarts), "of the service that the session acted on");
    }
}

/// The request for a report blocks a stop, and does not count as an objection.
#[test]
fn a_block_of_the_hook_itself_does_not_count_as_an_objection() {
    let finished = Session::new()
        .hosts_yaml("{services: {jellyfin: {}}, policy: {verify: {mode: both, grace: 1s, attempts: 1}}}")
        .env("CLAUDE_SESSION_MODE", "background")
        .step(bash("docker logs jellyfin"))
        .step(text("done"))
        .step(text("[EVENT:info] all is well"))
        .run();
    assert_eq!(finished.result(), "[EVENT:info] all is well");
    assert_eq!(finished.rows("SELECT 1 FROM verifications WHERE outcome = 'objected'").len(), 0);
}

/// The hand-over of the session stays, although the verifier writes one.
#[test]
fn a_verifier_hands_nothing_over() {
    let place = workspace("{mode: both, grace: 1s}", "Up 2 seconds");
    let handoff = |to: u8| {
        bash(&format!(
            "opsctl handoff write <<'JSON'\n{}\nJSON",
            json!({"schema_version": 1, "recommended_tier": to,
            "services_affected": ["jellyfin"], "check_results": [{"service": "jellyfin", "check_type": "container",
            "status": "unhealthy", "error": "it is down"}]})
        ))
    };
    session(&place, 2, [bash(RESTART), handoff(3), text("done")], [handoff(2), verdict(true, "")]);
    let left: Value = serde_json::from_str(&place.0.read("state/handoff.json")).unwrap();
    assert_eq!(left["recommended_tier"], 3);
}
