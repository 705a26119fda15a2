//! Restarts during which something is killed: what ran is what is counted. `KILLS=50 cargo test --test e2e kills` tries more.

use serde_json::{Value, json};

use crate::support::{Program, Session, Workspace, bash, text};

/// What is killed while the stub of `docker` restarts a service: processes of this network namespace, by a part of their command
/// line, with this signal. Hooks are too short to be found: theirs kill themselves.
const KILLS: [(&str, &str); 8] = [
    ("claude -p", "KILL"),
    ("claude -p", "TERM"),
    ("opsctl session", "KILL"),
    ("opsctl session", "TERM"),
    ("hook post-tool-use", "KILL"),
    ("hook session-end", "KILL"),
    ("opsctl", "KILL"),
    (".", "KILL"),
];

/// A restart that takes a while, and kills after a part of it.
fn restart(what: &str, signal: &str, after: usize) -> String {
    format!(
        "[ \"$1\" = restart ] || exit 0
         (trap '' TERM; sleep 0.{after:03}; pkill -{signal} --ns $$ --nslist net -f '{what}') >/dev/null 2>&1 </dev/null &
         sleep 0.5"
    )
}

fn session<'a>(workspace: &'a Workspace, tier: &str) -> Program<'a> {
    Program::opsctl(workspace)
        .args(["session", "--tier", tier])
        .env("CLAUDE_PROJECT_DIR", workspace.project().to_str().unwrap())
        .env("ANTHROPIC_API_KEY", "not-a-key")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
}

#[test]
fn what_ran_is_counted_although_a_process_was_killed() {
    let rounds = std::env::var("KILLS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(KILLS.len());
    let mut unknown = 0;
    for round in 0..rounds {
        let (what, signal) = KILLS[round % KILLS.len()];
        // Spread over the restart and the moments after it.
        let after = round * 37 % 450;
        let workspace = Workspace::new();
        workspace.render(include_str!("hosts.yaml"));
        workspace.put_program("claude", &crate::support::client());
        workspace.put_stub("docker", &restart(what, signal, after));
        if what.starts_with("hook") {
            let real = env!("CARGO_BIN_EXE_opsctl");
            workspace.put_stub(
                "opsctl",
                &format!("case \"$*\" in '{what}'*) kill -KILL $$ ;; esac; exec {real} \"$@\""),
            );
            let settings = workspace.project().join(".claude/settings.json");
            let rendered = std::fs::read_to_string(&settings).unwrap();
            let stub = workspace.path("bin/opsctl").display().to_string();
            std::fs::write(&settings, rendered.replace(real, &stub)).unwrap();
        }
        let steps = [bash("docker restart jellyfin"), text("done")];
        let ran = session(&workspace, "2").at_tier(2, steps).run();
        let restarts =
            workspace.all_marks().iter().filter(|mark| mark.arguments == ["restart", "jellyfin"]).count();
        let case = format!("round {round}: `{what}` killed with {signal} after {after} ms: {ran:#?}");
        assert_eq!(restarts, 1, "{case}");
        let shown = Program::opsctl(&workspace).args(["cooldown", "show", "jellyfin", "--json"]).run();
        let shown: Value = serde_json::from_str(&shown.stdout).expect(&case);
        assert_eq!(shown["services"][0]["restart"]["used"], json!(restarts), "{case}");
        // The next session settles what the killed one has left.
        session(&workspace, "1").at_tier(1, [text("All is well.")]).run();
        let left = workspace.rows("SELECT state FROM hook_actions WHERE state = 'reserved'");
        assert!(left.is_empty(), "{case}");
        let counted = workspace.rows("SELECT count(*) AS number FROM cooldown_actions");
        assert_eq!(counted, [json!({ "number": restarts })], "{case}");
        assert!(workspace.rows("SELECT 1 FROM client_runs WHERE outcome = 'running'").is_empty(), "{case}");
        let events = workspace.rows("SELECT message FROM events WHERE service = 'jellyfin' AND (message LIKE 'Container restarted%' OR message LIKE '%outcome unknown%')");
        assert!(!events.is_empty(), "{case}");
        let states = workspace.rows("SELECT group_concat(state) AS states, outcome FROM hook_actions, client_runs WHERE client_runs.id = 1");
        println!("round {round}: `{what}` killed with {signal} after {after} ms: {}", states[0]);
        unknown += usize::from(states[0]["states"] == "unknown");
    }
    assert!(unknown * 4 > rounds, "{unknown} of {rounds} were cut off: the kills came too late");
}

#[test]
fn twenty_calls_that_the_client_refuses_count_nothing() {
    let restarts = vec!["docker restart jellyfin"; 20];
    let refused = Session::new()
        .hosts_yaml(include_str!("hosts.yaml"))
        .tier(2)
        .client_arguments(["--disallowedTools", "Bash(docker restart:*)"])
        .commands(restarts)
        .run();
    assert_eq!(refused.tool_results().len(), 20);
    for result in refused.tool_results() {
        assert!(result.shown.starts_with("Permission to use Bash"), "{result:?}");
    }
    let states = refused.rows("SELECT state, count(*) AS number FROM hook_actions GROUP BY state");
    assert_eq!(states, [json!({"state": "released", "number": 20})]);
}
