//! The states of a reservation, and the actions that count, over time.

use serde_json::{Value, json};

use crate::clock::{Clock, is_used_up};

const RESTART: &str = "docker restart jellyfin";

#[test]
fn a_reservation_without_a_report_counts_for_a_whole_window() {
    let mut clock = Clock::new();
    for id in ["t1", "t2"] {
        assert_eq!(clock.ask(id, RESTART), None);
    }
    clock.minutes(239);
    is_used_up(clock.ask("t3", RESTART), "2026-03-21T18:00:00Z");
    clock.minutes(1);
    assert_eq!(clock.ask("t4", RESTART), None);
    assert_eq!(clock.settled("jellyfin"), 0);
}

#[test]
fn an_action_counts_however_late_it_is_reported() {
    // Long after it was allowed, and after its session has ended.
    let mut clock = Clock::new();
    assert_eq!(clock.ask("t1", RESTART), None);
    clock.minutes(25);
    clock.done("t1", RESTART);
    assert_eq!(clock.ask("t2", RESTART), None);
    clock.end_session();
    clock.done("t2", RESTART);
    assert_eq!(clock.settled("jellyfin"), 2);
    is_used_up(clock.ask("t3", RESTART), "2026-03-21T18:25:00Z");
    // Reported again, by either verb: nothing changes.
    clock.done("t2", RESTART);
    clock.failed("t1", RESTART);
    assert_eq!(clock.settled("jellyfin"), 2);
    // One more of the second: when its session ended, its outcome was unknown.
    assert_eq!(clock.sandbox.sql("SELECT count(*) FROM events"), "3");
}

#[test]
fn the_end_of_a_session_releases_no_action_that_ran() {
    let clock = Clock::new();
    clock.run("t1", RESTART);
    clock.run("t2", RESTART);
    clock.end_session();
    assert!(clock.ask("t3", RESTART).is_some());
}

#[test]
fn a_budget_slides_and_states_when_the_next_action_fits() {
    let mut clock = Clock::new();
    clock.run("t1", RESTART);
    clock.minutes(60);
    clock.run("t2", RESTART);
    clock.minutes(10);
    is_used_up(clock.ask("t3", RESTART), "2026-03-21T18:00:00Z");
    clock.minutes(170);
    clock.run("t4", RESTART);
    is_used_up(clock.ask("t5", RESTART), "2026-03-21T19:00:00Z");
}

#[test]
fn above_the_limit_the_limit_th_most_recent_action_says_when() {
    let mut clock = Clock::new();
    // Run without being asked for: by an older client that ignored the denial, say.
    for id in ["t1", "t2", "t3", "t4", "t5"] {
        clock.done(id, RESTART);
        clock.minutes(10);
    }
    let denial = clock.ask("t6", RESTART).unwrap();
    assert!(denial.contains("5/2 restarts in last 4h. Next allowed at 2026-03-21T18:30:00Z."), "{denial}");
}

#[test]
fn a_clock_that_is_wrong_for_a_time_frees_no_budget() {
    for minutes in [-180, -30, 30, 180] {
        let mut clock = Clock::new();
        clock.run("t1", RESTART);
        clock.minutes(minutes);
        clock.run("t2", RESTART);
        assert!(clock.ask("t3", RESTART).is_some(), "{minutes}");
        clock.minutes(-minutes);
        assert!(clock.ask("t4", RESTART).is_some(), "{minutes}");
        assert_eq!(clock.settled("jellyfin"), 2, "{minutes}");
    }
}

#[test]
fn setting_the_clock_back_frees_no_budget() {
    let mut clock = Clock::new();
    clock.run("t1", RESTART);
    clock.run("t2", RESTART);
    clock.minutes(-180);
    is_used_up(clock.ask("t3", RESTART), "2026-03-21T18:00:00Z");
    // Cleared counters count what follows, though the clock now says it came before.
    assert_eq!(clock.sandbox.opsctl(&["cooldown", "reset", "jellyfin"], b"").code, Some(0));
    clock.run("t4", RESTART);
    clock.run("t5", RESTART);
    assert!(clock.ask("t6", RESTART).is_some());
}

#[test]
fn counters_cleared_within_a_second_are_exact() {
    let clock = Clock::new();
    let reset = || {
        // The time of the reset is that of the actions around it, to the second.
        assert_eq!(clock.sandbox.opsctl(&["cooldown", "reset", "jellyfin"], b"").code, Some(0));
        clock.sandbox.sql("UPDATE budget_resets SET at = '2026-03-21T14:00:00Z'");
    };
    clock.run("t1", RESTART);
    assert_eq!(clock.ask("t2", RESTART), None);
    assert!(clock.ask("t3", RESTART).is_some());
    reset();
    clock.run("t4", RESTART);
    assert_eq!(clock.ask("t5", RESTART), None);
    assert!(clock.ask("t6", RESTART).is_some(), "what follows a reset in the same second counts");
    // It was under way at the reset, and turns out to have run.
    clock.done("t2", RESTART);
    assert_eq!(clock.settled("jellyfin"), 3);
}

#[test]
fn a_start_is_free_until_it_has_brought_the_service_up() {
    let [stop, start] = ["docker stop jellyfin", "docker start jellyfin"];
    let mut clock = Clock::new();
    clock.run("t1", RESTART);
    clock.run("t2", stop);
    assert!(clock.ask("t3", RESTART).is_some());
    // A start that failed has closed nothing; nor has one that the client refused after our hook.
    assert_eq!(clock.ask("t4", start), None);
    clock.failed("t4", start);
    assert_eq!(clock.ask("t5", start), None);
    clock.refuse("t5");
    assert_eq!(clock.ask("t6", start), None);
    clock.end_session();
    clock.minutes(11);
    clock.run("t7", start);
    assert!(clock.ask("t8", start).is_some(), "the service is up: this one would count");
    assert_eq!(clock.settled("jellyfin"), 2);
}

#[test]
fn a_stop_opens_the_cycle_across_sessions_failures_and_lost_reports() {
    let [stop, start] = ["docker stop jellyfin", "docker start jellyfin"];
    for lost in ["open", "refused", "unknown", "failed", "done"] {
        let mut clock = Clock::new();
        clock.run("t1", RESTART);
        assert_eq!(clock.ask("t2", stop), None, "{lost}");
        match lost {
            "open" => clock.minutes(11),
            "refused" => clock.refuse("t2"),
            "unknown" => clock.end_session(),
            "failed" => clock.failed("t2", stop),
            _ => clock.done("t2", stop),
        }
        clock.session = "s2";
        // Another process uses up the rest of the budget.
        clock.done("x1", RESTART.replace("restart", "stop").as_str());
        clock.minutes(300);
        assert_eq!(clock.ask("t3", start), None, "{lost}: the service may be down");
    }
}

#[test]
fn a_stop_and_start_in_one_command_is_one_action() {
    let clock = Clock::new();
    let cycle = "docker stop jellyfin && docker start jellyfin";
    clock.run("t1", cycle);
    clock.run("t2", cycle);
    assert_eq!(clock.settled("jellyfin"), 2);
    assert!(clock.ask("t3", cycle).is_some());
}

#[test]
fn several_services_in_one_command_each_draw_on_their_own_budget_or_none_does() {
    let clock = Clock::new();
    clock.run("t1", "systemctl restart nginx redis");
    clock.run("t2", "systemctl restart nginx");
    let denial = clock.ask("t3", "systemctl restart redis nginx postgres").unwrap();
    assert!(denial.contains("for nginx: 2/2") && denial.lines().count() == 1, "{denial}");
    // Nothing of the denied command was taken.
    assert_eq!(clock.ask("t4", "systemctl restart redis postgres"), None);
    assert_eq!(clock.ask("t5", "systemctl restart postgres"), None);
    assert!(clock.ask("t6", "systemctl restart postgres").is_some());
    let denial = clock.ask("t7", "docker restart a; docker restart a; docker restart a").unwrap();
    assert!(denial.contains("The command alone exceeds the limit."), "{denial}");
}

#[test]
fn an_action_in_an_endless_loop_is_denied_and_reserves_nothing() {
    let clock = Clock::new();
    let denial = clock.ask("t1", "while sleep 5; do docker restart jellyfin; done").unwrap();
    assert!(denial.contains("loop of unknown length"), "{denial}");
    assert_eq!(clock.sandbox.sql("SELECT count(*) FROM hook_actions"), "0");
}

#[test]
fn actions_on_unknown_services_share_a_budget_per_host() {
    let clock = Clock::new();
    let on = |host: &str| format!("ssh root@{host} docker restart \"$NAME\"");
    clock.run("t1", &on("ie01"));
    clock.run("t2", &on("ie01"));
    let denial = clock.ask("t3", &on("ie01")).unwrap();
    assert!(denial.contains("for unresolved@ie01: 2/2"), "{denial}");
    assert_eq!(clock.ask("t4", &on("pie01")), None);
    assert_eq!(clock.ask("t5", "docker restart \"$NAME\""), None);
}

#[test]
fn a_background_command_is_settled_when_it_starts() {
    let clock = Clock::new();
    for id in ["t1", "t2"] {
        assert_eq!(clock.ask(id, RESTART), None);
        let response =
            json!({"tool_response": {"stdout": "", "interrupted": false, "backgroundTaskId": "b1"}});
        clock.tell("post-tool-use", Some(id), RESTART, &response);
    }
    clock.end_session();
    assert_eq!(clock.settled("jellyfin"), 2);
    assert!(clock.ask("t3", RESTART).is_some());
}

#[test]
fn calls_without_an_id_settle_one_reservation_each() {
    for id in [None, Some("")] {
        let mut clock = Clock::new();
        let tell = |clock: &Clock, event: &str| clock.tell(event, id, RESTART, &Value::Null);
        assert_eq!(tell(&clock, "pre-tool-use").denial, None);
        // The client refused that one, which cannot be seen without an id; the next ran.
        clock.minutes(11);
        assert_eq!(tell(&clock, "pre-tool-use").denial, None);
        tell(&clock, "post-tool-use");
        assert_eq!(
            clock
                .sandbox
                .sql("SELECT group_concat(state, ' ') FROM (SELECT state FROM hook_actions ORDER BY id) AS all_states"),
            "done reserved"
        );
        assert!(tell(&clock, "pre-tool-use").denial.is_some());
        tell(&clock, "post-tool-use");
        assert_eq!(clock.settled("jellyfin"), 2);
        // Two of the same in one command, with room for one.
        let twice = "docker restart sonarr; docker restart sonarr";
        clock.tell("pre-tool-use", id, twice, &Value::Null);
        clock.tell("post-tool-use", id, twice, &Value::Null);
        assert_eq!(
            clock.sandbox.sql(
                "SELECT count(*), group_concat(DISTINCT state) FROM hook_actions WHERE service = 'sonarr'"
            ),
            "2|done"
        );
    }
}

#[test]
fn a_pull_request_or_a_notification_is_recorded_once() {
    let clock = Clock::new();
    for command in ["gh pr create --title Mend", "apprise -b hello mailto://x"] {
        // The same id with another command is another call: an id is worth no more than its writer's care.
        clock.done("t1", command);
        clock.done("t1", command);
    }
    assert_eq!(
        clock.sandbox.sql(
            "SELECT group_concat(message, '; ') FROM (SELECT message FROM events ORDER BY id) AS messages"
        ),
        "Pull request created: Mend; Notification sent via Apprise"
    );
}

#[test]
fn distinguishes_sessions_with_equal_call_ids() {
    let mut clock = Clock::new();
    for session in ["s1", "s2"] {
        clock.session = session;
        clock.run("t1", RESTART);
    }
    assert_eq!(clock.settled("jellyfin"), 2);
}

#[test]
fn a_script_that_removes_itself_counts_all_the_same() {
    let clock = Clock::new();
    let script = clock.sandbox.path("restart.sh");
    let command = format!("bash {}", script.display());
    for id in ["t1", "t2"] {
        std::fs::write(&script, "rm -- \"$0\"\ndocker restart jellyfin\n").expect("a script");
        assert_eq!(clock.ask(id, &command), None);
        std::fs::remove_file(&script).expect("the script");
        clock.done(id, &command);
    }
    assert_eq!(clock.settled("jellyfin"), 2);
    std::fs::write(&script, "docker restart jellyfin\n").expect("a script");
    assert!(clock.ask("t3", &command).is_some());
}

#[test]
fn a_script_that_only_reads_leaves_nothing_in_the_ledger() {
    let clock = Clock::new();
    std::fs::write(clock.sandbox.path("look.sh"), "docker ps\n").expect("a script");
    clock.run("t1", "docker restart jellyfin");
    clock.run("t2", &format!("bash {}", clock.sandbox.path("look.sh").display()));
    assert_eq!(clock.sandbox.sql("SELECT count(*) FROM hook_settled"), "1");
}
