//! Sessions of the real client with rendered settings: budgets are enforced.

use crate::support::{Finished, Session, ToolResult, Workspace, bash, text, together, tool};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

const RESTART: &str = "docker restart jellyfin";

/// A session guarded by `hosts.yaml`.
pub fn guarded() -> Session {
    Session::new().hosts_yaml(include_str!("hosts.yaml"))
}

/// Asserts the documented denial, and returns the next allowed time.
#[track_caller]
pub fn assert_over_budget(result: &ToolResult, used_up: &str) -> DateTime<Utc> {
    let opening = format!("Cooldown limit exceeded for {used_up}. Next allowed at ");
    result.assert_refused(&opening);
    let time = result.shown.split(&opening).nth(1).and_then(|rest| rest.split_once("Z.")).unwrap().0;
    assert_eq!(time.len(), "2026-03-21T18:00:00".len(), "{time}");
    format!("{time}Z").parse().unwrap()
}

#[track_caller]
fn assert_soon(time: DateTime<Utc>, after: DateTime<Utc>) {
    let late = time - after;
    assert!(
        (TimeDelta::seconds(-2)..TimeDelta::seconds(60)).contains(&late),
        "{time} is not just after {after}"
    );
}

/// The recorded actions, as other programs read them.
fn counted(workspace: &Workspace) -> Vec<serde_json::Value> {
    workspace.rows("SELECT service, action_type, success FROM cooldown_actions ORDER BY id")
}

#[test]
fn two_restarts_run_and_the_third_is_denied() {
    let started = Utc::now();
    let finished = guarded().commands([RESTART, RESTART, RESTART]).run();

    finished.tool_result(0).assert_ran();
    finished.tool_result(1).assert_ran();
    let next = assert_over_budget(finished.tool_result(2), "jellyfin: 2/2 restarts in last 4h");
    assert_soon(next, started + TimeDelta::hours(4));
    assert_eq!(finished.marks("docker"), ["restart jellyfin"; 2], "the third never ran");

    let id = finished.session_id();
    let event = json!({"level": "warning", "service": "jellyfin", "session_id": id, "source": "hook",
                       "message": "Container restarted: docker restart jellyfin"});
    let events = "SELECT level, service, recorded_events.session_id, events.source, message
         FROM events JOIN recorded_events ON event_id = id WHERE level = 'warning' ORDER BY id";
    assert_eq!(finished.rows(events), [event.clone(), event]);
    for row in finished.rows("SELECT created_at FROM events") {
        assert_soon(row["created_at"].as_str().unwrap().parse().unwrap(), started);
    }
    let restart = json!({"service": "jellyfin", "action_type": "restart", "success": 1});
    assert_eq!(counted(&finished), [restart.clone(), restart]);

    let denials = finished.rows("SELECT session_id, reason FROM hook_decisions WHERE verdict = 'deny'");
    assert_eq!(denials.len(), 1, "a denial leaves a record");
    assert_eq!(denials[0]["session_id"], id);
    assert!(denials[0]["reason"].as_str().unwrap().starts_with("Cooldown limit exceeded for jellyfin: 2/2"));
}

#[test]
fn monitor_mode_blocks_nothing_and_records_what_would_be_denied() {
    let hosts = include_str!("hosts.yaml").replace("policy:\n", "policy:\n  mode: monitor\n");
    let denied = ["docker volume rm media", "ssh root@ie01 'docker system prune -af'"];
    let workspace = Workspace::new();
    let (secret, protected) = (workspace.path("project/.env"), workspace.path("project/CLAUDE.md"));
    let finished = Session::continuing(workspace)
        .hosts_yaml(&hosts)
        .file("project/.env", "x=1\n")
        .tools("Bash,Read,Write")
        .commands([RESTART; 3])
        .commands(denied)
        .step(tool("Read", &json!({"file_path": secret})))
        .step(tool("Write", &json!({"file_path": protected, "content": "x"})))
        .run();
    for nth in 0..7 {
        finished.tool_result(nth).assert_ran();
    }
    let ran = [["restart jellyfin"; 3].as_slice(), &["volume rm media"]].concat();
    assert_eq!(finished.marks("docker"), ran);
    assert_eq!(finished.marks("ssh").first().unwrap(), "root@ie01 docker system prune -af");
    let rules =
        finished.rows("SELECT verdict, rule FROM hook_decisions WHERE verdict <> 'allow' ORDER BY id");
    let would = |rule: &str| json!({"verdict": "would deny", "rule": rule});
    assert_eq!(rules, ["budget", "never", "never", "secret", "protect"].map(would));
}

#[test]
fn the_budget_outlives_the_session() {
    let first = guarded().commands([RESTART, RESTART]).run();
    first.tool_result(1).assert_ran();
    let second =
        Session::continuing(first.into_workspace()).commands([RESTART, "docker restart adguardhome"]).run();
    assert_over_budget(second.tool_result(0), "jellyfin: 2/2 restarts in last 4h");
    second.tool_result(1).assert_ran();
    assert_eq!(second.marks("docker"), ["restart jellyfin", "restart jellyfin", "restart adguardhome"]);
}

#[test]
fn entries_of_an_existing_cooldown_json_count() {
    let first = (Utc::now() - TimeDelta::hours(3)).format("%Y-%m-%dT%H:%M:%SZ").to_string();
    let second = (Utc::now() - TimeDelta::hours(1)).format("%Y-%m-%dT%H:%M:%SZ").to_string();
    let cooldown = json!({"services": {"jellyfin": {"restart_timestamps": [first, second]}}});
    let finished = guarded().file("state/cooldown.json", &cooldown.to_string()).step(bash(RESTART)).run();
    let next = assert_over_budget(finished.tool_result(0), "jellyfin: 2/2 restarts in last 4h");
    assert_eq!(next, first.parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(4));
    assert_eq!(finished.marks("docker"), [""; 0]);
}

#[test]
fn a_failed_restart_counts_against_the_budget() {
    let finished =
        guarded().stub("docker", "echo 'no such container' >&2; exit 1").commands([RESTART; 3]).run();

    assert!(finished.tool_result(0).is_error && finished.tool_result(1).is_error);
    assert_over_budget(finished.tool_result(2), "jellyfin: 2/2 restarts in last 4h");
    assert_eq!(finished.marks("docker"), ["restart jellyfin"; 2]);

    let failure = json!({"service": "jellyfin", "action_type": "restart", "success": 0});
    assert_eq!(counted(&finished), [failure.clone(), failure]);
    let critical = "SELECT service, recorded_events.session_id FROM events JOIN recorded_events ON event_id = id WHERE level = 'critical'";
    let event = json!({"service": "jellyfin", "session_id": finished.session_id()});
    assert_eq!(finished.rows(critical), [event.clone(), event]);
}

#[test]
fn a_restart_hidden_in_other_commands_is_counted_and_denied_like_any_other() {
    let counted = ["bash -c 'docker restart jellyfin'", "ssh root@ie01 'docker restart jellyfin'"];
    let denied =
        [RESTART, "cd /tmp && ssh root@ie01 'docker restart jellyfin'", "bash -c 'docker restart jellyfin'"];
    let finished = guarded().commands(counted).commands(denied).run();
    finished.tool_result(0).assert_ran();
    finished.tool_result(1).assert_ran();
    for nth in 2..5 {
        assert_over_budget(finished.tool_result(nth), "jellyfin: 2/2 restarts in last 4h");
    }
    assert_eq!(finished.marks("docker"), ["restart jellyfin"]);
    assert_eq!(finished.marks("ssh"), ["root@ie01 docker restart jellyfin"]);
}

#[test]
fn monitor_calls_draw_on_the_budget() {
    let monitor =
        json!({"command": RESTART, "description": "restart", "timeout_ms": 3000, "persistent": false});
    let monitor = || tool("Monitor", &monitor);
    let finished = guarded()
        .tools("Bash,Read,Monitor")
        .step(monitor())
        .step(bash("until grep -qw docker ../marks; do sleep 0.05; done"))
        .step(bash(RESTART))
        .step(monitor())
        .run();
    let calls: Vec<_> =
        finished.tool_results().iter().filter(|result| result.input["command"] == RESTART).collect();
    calls[0].assert_ran();
    calls[1].assert_ran();
    assert_over_budget(calls[2], "jellyfin: 2/2 restarts in last 4h");
    assert_eq!(finished.marks("docker").len(), 2);
}

#[test]
fn a_stopped_service_may_be_started_again() {
    let finished =
        guarded().commands([RESTART, "docker stop jellyfin", "docker start jellyfin", RESTART]).run();
    finished.tool_result(2).assert_ran();
    assert_over_budget(finished.tool_result(3), "jellyfin: 2/2 restarts in last 4h");
    assert_eq!(finished.marks("docker"), ["restart jellyfin", "stop jellyfin", "start jellyfin"]);
    assert_eq!(counted(&finished).len(), 2);
}

#[test]
fn denies_restarting_everything_at_once() {
    let everything = ["docker restart $(docker ps -q)", "docker ps -q | xargs docker restart"];
    let finished = guarded().tier(3).commands(everything).run();
    finished.tool_result(0).assert_refused("orbidden");
    finished.tool_result(1).assert_refused("orbidden");
    assert_eq!(finished.marks("docker"), [""; 0]);
}

#[test]
fn several_restarts_in_one_message_share_the_budget() {
    let finished = guarded().step(together([RESTART; 4].map(bash))).run();
    let ran = finished.tool_results().iter().filter(|result| !result.is_error).count();
    assert_eq!((ran, finished.tool_results().len()), (2, 4));
    assert_eq!(finished.marks("docker").len(), 2);
}

#[test]
fn concurrent_subagents_share_the_budget() {
    let jobs = ["first job", "second job", "third job", "fourth job"];
    let start = |job| {
        let brief = json!({"description": job, "prompt": job, "subagent_type": "general-purpose",
                           "run_in_background": true});
        tool("Task", &brief)
    };
    let session = guarded().tools("Bash,Read,Task").step(together(jobs.map(start))).step(bash("sleep 2"));
    let subagents = |session: Session, job| session.subagent(job, [bash(RESTART), text("tried")]);
    let finished = jobs.into_iter().fold(session, subagents).run();
    let tried: Vec<_> =
        finished.tool_results().iter().filter(|result| result.input["command"] == RESTART).collect();
    assert_eq!(tried.len(), 4);
    assert_eq!(tried.iter().filter(|result| !result.is_error).count(), 2);
    assert_eq!(finished.marks("docker").len(), 2);
}

#[test]
fn a_command_that_the_client_refuses_does_not_count() {
    let first = guarded()
        .client_arguments(["--disallowedTools", "Bash(docker restart:*)"])
        .commands([RESTART, RESTART])
        .run();
    first.tool_result(0).assert_refused("ermission");
    assert_eq!(first.marks("docker"), [""; 0]);
    assert!(counted(&first).is_empty());

    let second = Session::continuing(first.into_workspace()).commands([RESTART, RESTART, RESTART]).run();
    second.tool_result(0).assert_ran();
    second.tool_result(1).assert_ran();
    assert_over_budget(second.tool_result(2), "jellyfin: 2/2 restarts in last 4h");
}

#[test]
fn a_second_redeployment_is_denied() {
    let redeploy = "ansible-playbook -i inventory redeploy-jellyfin.yml";
    let finished = guarded().tier(3).commands([redeploy, redeploy]).run();
    finished.tool_result(0).assert_ran();
    assert_over_budget(finished.tool_result(1), "jellyfin: 1/1 redeployments in last 24h");
    assert_eq!(finished.marks("ansible-playbook").len(), 1);
}

#[test]
fn tier_1_cannot_restart_services() {
    let finished =
        guarded().tier(1).commands([RESTART, "ssh root@ie01 docker restart jellyfin", "docker ps"]).run();
    finished.tool_result(0).assert_refused("");
    finished.tool_result(1).assert_refused("");
    finished.tool_result(2).assert_ran();
    assert_eq!(finished.marks("docker"), ["ps"]);
}

#[test]
fn events_land_in_the_database_that_the_session_manager_made() {
    let workspace = Workspace::new();
    workspace.sql(include_str!("../fixtures/session-manager.sql"));
    workspace.sql(
        "INSERT INTO sessions (id, tier, model, prompt_file, status, started_at)
             VALUES (7, 2, 'sonnet', 'prompts/tier2.md', 'running', '2026-03-21T13:00:00Z')",
    );
    let finished = Session::continuing(workspace)
        .hosts_yaml(include_str!("hosts.yaml"))
        .env("CLAUDE_SESSION_ID", "7")
        .commands([RESTART, RESTART, RESTART])
        .run();
    assert_over_budget(finished.tool_result(2), "jellyfin: 2/2 restarts in last 4h");
    let event = json!({"session_id": 7, "level": "warning", "service": "jellyfin",
                       "message": "Container restarted: docker restart jellyfin"});
    let events = "SELECT session_id, level, service, message FROM events WHERE level = 'warning' ORDER BY id";
    assert_eq!(finished.rows(events), [event.clone(), event]);
    assert_eq!(counted(&finished).len(), 2);
    assert!(finished.rows("SELECT name FROM pragma_table_info('events') WHERE name = 'source'").is_empty());
}

#[test]
fn commands_without_an_action_are_allowed_silently() {
    let quiet =
        ["ls -la", "docker ps", "echo 'docker restart jellyfin'", "grep -r 'docker restart' . ; true"];
    let finished: Finished = guarded().commands(quiet).run();
    for result in finished.tool_results() {
        result.assert_ran();
        assert!(!result.shown.contains("ooldown"), "{}", result.shown);
    }
    assert!(counted(&finished).is_empty());
    assert!(finished.rows("SELECT 1 AS row FROM events").is_empty());
}

#[test]
fn an_agent_cannot_clear_its_own_counters() {
    let finished = guarded()
        .commands([
            "docker restart jellyfin",
            "docker restart jellyfin",
            "opsctl cooldown healthy jellyfin; opsctl cooldown healthy jellyfin",
            "docker restart jellyfin",
            "opsctl cooldown reset jellyfin",
        ])
        .run();
    finished.tool_result(2).assert_ran();
    finished.tool_result(3).assert_refused("Cooldown limit exceeded for jellyfin: 2/2 restarts");
    finished.tool_result(4).assert_refused("would weaken the limits");
    assert_eq!(finished.marks("docker").len(), 2);
}
