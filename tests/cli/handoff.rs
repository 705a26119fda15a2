//! `opsctl handoff`: hand-overs between sessions, with valid and invalid content.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("results")).unwrap();
    let results = sandbox.path("results").display().to_string();
    sandbox.with("CLAUDEOPS_RESULTS_DIR", &results)
}

fn good(tier: u8) -> Value {
    json!({
        "schema_version": 1, "recommended_tier": tier, "services_affected": ["jellyfin"],
        "check_results": [{"service": "jellyfin", "check_type": "http", "status": "unhealthy", "error": "502"}],
        "investigation_findings": "out of memory",
    })
}

fn results(sandbox: &Sandbox) -> Vec<String> {
    let names = std::fs::read_dir(sandbox.path("results")).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Asserts that the hand-over is refused and removed, and that an event states the reason.
#[track_caller]
fn refused(sandbox: &Sandbox, why: &str) {
    let run = sandbox.opsctl(&["handoff", "take", "--from", "1"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.contains(why) && run.stderr.lines().count() == 1, "{why}: {run:?}");
    let event = sandbox.sql("SELECT level, source, message FROM events");
    assert!(
        event.starts_with("critical|opsctl|Needs attention: hand-over of tier 1 refused: ")
            && event.contains(why),
        "{event}"
    );
    assert!(std::fs::symlink_metadata(sandbox.path("handoff.json")).is_err(), "{why}: it is removed");
    assert!(!sandbox.path("handoff-taken.json").exists());
    let again = sandbox.opsctl(&["handoff", "take", "--from", "1"], b"");
    assert_eq!(
        (again.code, again.stdout.as_str(), again.stderr.as_str()),
        (Some(1), "", ""),
        "once is enough"
    );
}

#[test]
fn a_hand_over_of_a_service_that_is_not_listed_names_the_similar_one() {
    let sandbox = sandbox();
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\n");
    let misspelt = good(2).to_string().replace("jellyfin", "jelyfin");
    let written = sandbox.opsctl(&["handoff", "write"], misspelt.as_bytes());
    assert_eq!(written.code, Some(0), "{written:?}");
    assert!(
        written.stderr.contains("no service `jelyfin` in hosts.yaml; did you mean `jellyfin`?"),
        "{written:?}"
    );
}

#[test]
fn a_valid_hand_over_is_taken_once() {
    let sandbox = sandbox();
    let written = sandbox.opsctl(&["handoff", "write"], good(2).to_string().as_bytes());
    assert_eq!(written.stdout, "handed over to tier 2: jellyfin; end the session now\n", "{written:?}");
    assert_eq!(written.stderr, "", "{written:?}");
    let checked = sandbox.opsctl(&["handoff", "check"], b"");
    assert_eq!((checked.code, checked.stdout.as_str()), (Some(0), "handed over to tier 2: jellyfin\n"));
    let taken = sandbox.opsctl(&["handoff", "take", "--from", "1"], b"");
    assert_eq!((taken.code, taken.stdout.as_str()), (Some(0), "2\n"), "{taken:?}");
    assert!(!sandbox.path("handoff.json").exists());
    assert!(sandbox.read("handoff-taken.json").contains("out of memory"));
    assert_eq!(
        sandbox.sql("SELECT level, service, message FROM events"),
        "info|jellyfin|Tier 1 handed over to tier 2: jellyfin"
    );
    let copies = results(&sandbox);
    assert!(copies.len() == 1 && copies[0].ends_with("-handoff-taken.json"), "{copies:?}");
    assert_eq!(sandbox.opsctl(&["handoff", "take", "--from", "1"], b"").code, Some(1), "it was taken");
}

/// `handoff.yaml`.
#[derive(serde::Deserialize)]
struct Rows {
    accepted: Vec<(String, Value)>,
    refused: Vec<(String, Value, u8, String)>,
}

/// The rows, and a hand-over to tier 2 with another value of one key.
fn rows() -> (Rows, impl Fn(String, Value) -> String) {
    let changed = |key, value| {
        let mut whole = good(2);
        whole.as_object_mut().unwrap().insert(key, value);
        whole.to_string()
    };
    (serde_saphyr::from_str(include_str!("handoff.yaml")).unwrap(), changed)
}

#[test]
fn null_other_spellings_of_numbers_and_a_single_name_are_accepted() {
    let (sandbox, (rows, changed)) = (sandbox(), rows());
    for (key, value) in rows.accepted {
        let run = sandbox.opsctl(&["handoff", "write"], changed(key, value).as_bytes());
        assert_eq!(run.stdout, "handed over to tier 2: jellyfin; end the session now\n", "{run:?}");
        let written = sandbox.read("handoff.json");
        assert!(written.starts_with("{\n  \"schema_version\": 1,\n  \"recommended_tier\": 2,"), "{written}");
    }
}

#[test]
fn an_invalid_hand_over_is_not_written() {
    let (rows, changed) = rows();
    // Indentation multiplies the length of nested lists.
    let nested = (0..60).fold(json!(vec![1; 5000]), |nested, _| json!([nested]));
    let mut refused = vec![
        ("{".to_owned(), 2, "line 1, column 1".to_owned()),
        ("{\n  \"schema_version\": 1,,\n}".to_owned(), 1, "line 2, column 23".to_owned()),
        ("x".repeat(70_000), 2, "at most 65536 are allowed".to_owned()),
        (changed("invented".to_owned(), nested), 1, "at most 65536 are allowed".to_owned()),
    ];
    let rows = rows.refused.into_iter();
    refused.extend(rows.map(|(key, value, tier, why)| (changed(key, value), tier, why)));
    for (text, tier, why) in refused {
        let sandbox = sandbox().with("CLAUDEOPS_TIER", &tier.to_string());
        let run = sandbox.opsctl(&["handoff", "write"], text.as_bytes());
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.lines().count()), (Some(1), "", 1), "{run:?}");
        assert!(run.stderr.contains(&why), "{run:?}");
        assert!(!sandbox.path("handoff.json").exists());
    }
}

#[test]
fn the_session_that_hands_over_replaces_a_stated_one() {
    let (sandbox, (_, changed)) = (sandbox(), rows());
    let stated = changed("from_session".to_owned(), json!("invented"));
    for (sandbox, from) in
        [(sandbox, Value::Null), (self::sandbox().with("CLAUDE_SESSION_ID", "real"), json!("real"))]
    {
        sandbox.opsctl(&["handoff", "write"], stated.as_bytes());
        let written: Value = serde_json::from_str(&sandbox.read("handoff.json")).unwrap();
        assert_eq!(
            (&written["from_session"], &written["investigation_findings"]),
            (&from, &json!("out of memory"))
        );
    }
}

#[test]
fn an_invalid_hand_over_is_removed_and_reported() {
    let mut no_service = good(2);
    no_service["services_affected"] = json!([]);
    for (content, why) in [
        ("{ half a".to_owned(), "not a hand-over"),
        (good(9).to_string(), "recommends tier 9"),
        (no_service.to_string(), "names no service"),
        (String::new(), "not a hand-over"),
    ] {
        let sandbox = sandbox();
        sandbox.write("handoff.json", &content);
        refused(&sandbox, why);
        let copies = results(&sandbox);
        assert!(copies.len() == 1 && copies[0].ends_with("-handoff-refused.json"), "{why}: {copies:?}");
    }
}

#[test]
fn a_hand_over_of_tier_3_asks_for_a_person() {
    // Written by any command: found at the end of the session.
    let found = sandbox();
    found.write("handoff.json", &good(3).to_string());
    let taken = found.opsctl(&["handoff", "take", "--from", "3"], b"");
    assert_eq!((taken.code, taken.stdout.as_str()), (Some(1), ""), "{taken:?}");
    // With the verb: reported at once, since no session follows.
    let written = sandbox().with("CLAUDEOPS_TIER", "3");
    let refused = written.opsctl(&["handoff", "write"], good(3).to_string().as_bytes());
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    assert!(!written.path("handoff.json").exists());
    for sandbox in [found, written] {
        assert_eq!(
            sandbox.sql("SELECT level, source, message FROM events"),
            "critical|opsctl|Needs attention: a session of tier 3 handed over jellyfin, and no tier is higher; an operator has to take over"
        );
        let notice = "SELECT level, title, state FROM notice_states";
        assert_eq!(
            sandbox.sql(notice),
            "critical|opsctl: a hand-over of tier 3 needs human attention|no_target"
        );
    }
}

#[test]
fn every_key_of_a_hand_over_reaches_the_next_session() {
    let sandbox = sandbox();
    let mut whole = good(2);
    whole["schema_version"] = json!(1.0);
    whole["check_results"] = json!([{"service": "jellyfin", "status": "unhealthy", "error": null}]);
    whole["investigation_findings"] = Value::Null;
    whole["ssh_access_map"] = json!({"ie01": {"user": "root", "method": "key"}});
    whole["cooldown_state"] = json!({"jellyfin": {"restarts_in_window": 1}});
    whole["of_a_later_version"] = json!([1, null]);
    sandbox.write("handoff.json", &whole.to_string());
    let run = sandbox.opsctl(&["handoff", "take", "--from", "1"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "2\n"), "{run:?}");
    let taken: Value = serde_json::from_str(&sandbox.read("handoff-taken.json")).unwrap();
    let expected = json!({
        "schema_version": 1, "recommended_tier": 2, "services_affected": ["jellyfin"],
        "check_results": [{"service": "jellyfin", "status": "unhealthy"}],
        "ssh_access_map": whole["ssh_access_map"], "cooldown_state": whole["cooldown_state"],
        "of_a_later_version": [1, null],
    });
    assert_eq!(taken, expected);
}

#[test]
fn a_hundred_megabytes_are_not_read() {
    let sandbox = sandbox();
    std::fs::File::create(sandbox.path("handoff.json")).unwrap().set_len(100 << 20).unwrap();
    refused(&sandbox, "104857600 bytes");
    assert_eq!(results(&sandbox), [""; 0], "nor kept");
}

#[test]
fn a_hand_over_that_is_not_a_file_is_removed_and_its_target_stays() {
    let linked = sandbox();
    let target = linked.write("elsewhere.json", &good(2).to_string());
    symlink(&target, linked.path("handoff.json")).unwrap();
    refused(&linked, "a symbolic link");
    assert!(target.exists());

    let folder = sandbox();
    folder.write("handoff.json/inside", "x");
    refused(&folder, "is a directory");

    let pipe = sandbox();
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe.path("handoff.json"), rustix::fs::Mode::RUSR).unwrap();
    refused(&pipe, "not a regular file");
}

#[test]
fn a_hand_over_above_the_highest_tier_needs_an_operator() {
    let sandbox = sandbox().with("CLAUDEOPS_MAX_TIER", "2");
    sandbox.write("handoff.json", &good(3).to_string());
    let run = sandbox.opsctl(&["handoff", "take", "--from", "1"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    let event = sandbox.sql("SELECT level, service, message FROM events");
    assert_eq!(
        event,
        "critical|jellyfin|Needs attention: handed over to tier 3: jellyfin, but CLAUDEOPS_MAX_TIER is 2"
    );
}

#[test]
fn a_dry_run_follows_no_hand_over() {
    let sandbox = sandbox().with("CLAUDEOPS_DRY_RUN", "true");
    sandbox.write("handoff.json", &good(2).to_string());
    let run = sandbox.opsctl(&["handoff", "take", "--from", "1"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert_eq!(sandbox.sql("SELECT level FROM events"), "info");
    assert!(!sandbox.path("handoff.json").exists());
    let notice = sandbox.sql("SELECT title, body FROM notices");
    for part in [
        "opsctl: dry run, would have handed over to tier 2|",
        "Would have handed over to tier 2: ",
        "\"schema_version\"",
    ] {
        assert!(notice.contains(part), "{part}: {notice}");
    }
}

#[test]
fn a_secret_in_it_stays_out_of_the_results() {
    let sandbox = sandbox();
    let mut leaky = good(2);
    leaky["investigation_findings"] = json!("the key is sk-ant-api03-abcdef");
    sandbox.write("handoff.json", &leaky.to_string());
    assert_eq!(sandbox.opsctl(&["handoff", "take", "--from", "1"], b"").code, Some(0));
    let copy = sandbox.read(&format!("results/{}", results(&sandbox)[0]));
    assert!(copy.contains("[redacted]") && !copy.contains("sk-ant-"), "{copy}");
}

#[test]
fn an_earlier_cycles_hand_over_is_cleared() {
    let sandbox = sandbox();
    sandbox.write("handoff.json", &good(2).to_string());
    sandbox.write("handoff-taken.json", &good(2).to_string());
    let run = sandbox.opsctl(&["handoff", "clear"], b"");
    assert_eq!((run.code, run.stderr.lines().count()), (Some(0), 1), "{run:?}");
    assert!(!sandbox.path("handoff.json").exists() && !sandbox.path("handoff-taken.json").exists());
    assert_eq!(sandbox.opsctl(&["handoff", "clear"], b"").stderr, "");
}

#[test]
fn an_agent_may_hand_over_but_not_take_or_clear_or_start_a_session() {
    let sandbox = sandbox();
    for (command, code) in [
        ("opsctl handoff write < x.json", 0),
        ("opsctl handoff check", 0),
        ("opsctl handoff take --from 1", 2),
        ("opsctl handoff clear", 2),
        ("opsctl session --tier 3", 2),
        ("opsctl mcp merge", 2),
        ("opsctl tier 3 --args", 0),
    ] {
        assert_eq!(sandbox.before("t", command).code, Some(code), "{command}");
    }
}
