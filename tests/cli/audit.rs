//! `opsctl audit` and `stats`: decisions, and durations of hooks.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, denied, passes};

fn decisions(sandbox: &Sandbox, arguments: &[&str]) -> Vec<Value> {
    let run = sandbox.opsctl(&[&["audit", "--json"], arguments].concat(), b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    json["decisions"].as_array().unwrap().clone()
}

/// Two restarts that run, one that is denied, a pull request, one that is forbidden.
fn incident() -> Sandbox {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "2");
    sandbox.write("hosts.yaml", "services: {adguard: {containers: [adguardhome]}}\n");
    for id in ["t1", "t2"] {
        passes(&sandbox.before(id, "PASSWORD=s3cret docker restart adguardhome"));
        passes(&sandbox.after(id, "docker restart adguardhome"));
    }
    denied(&sandbox.before("t3", "ssh root@ie01 'docker restart adguardhome'"));
    passes(&sandbox.before("t4", "gh pr create --title Fix --body s3cret"));
    denied(&sandbox.before("t5", "docker restart $(docker ps -q)"));
    sandbox
}

#[test]
fn every_decision_is_there_with_its_actions_rule_and_budgets() {
    let sandbox = incident();
    let found = decisions(&sandbox, &[]);
    let shown: Vec<String> = found
        .iter()
        .map(|it| {
            format!("{} {} {} {}", it["verdict"], it["rules"], it["actions"], it["budgets"]).replace('"', "")
        })
        .collect();
    assert_eq!(
        shown,
        [
            "deny [forbidden] docker restart $(docker ps) ",
            "allow [] gh pr create ",
            "deny [budget] docker restart adguardhome adguard: 2/2 restarts (4h)",
            "allow [] docker restart adguardhome adguard: 1/2 restarts (4h)",
            "allow [] docker restart adguardhome adguard: 0/2 restarts (4h)",
        ]
    );
    let third = &found[2];
    assert_eq!((&third["tier"], &third["services"]), (&json!(2), &json!(["adguard"])));
    assert_eq!(third["session"], "sess-abc-123");
    assert!(third["reason"].as_str().unwrap().starts_with("Cooldown limit exceeded for adguard: 2/2"));
    assert!(found.iter().all(|it| it["micros"].as_i64().is_some_and(|micros| micros > 0)), "{found:?}");
    let commands: Vec<&str> = found.iter().map(|it| it["command"].as_str().unwrap()).collect();
    assert_eq!(
        commands,
        [
            "docker restart $(docker ps -q)",
            "gh pr create --title Fix --body s3cret",
            "ssh root@ie01 'docker restart adguardhome'",
            "PASSWORD=[redacted] docker restart adguardhome",
            "PASSWORD=[redacted] docker restart adguardhome",
        ]
    );
    assert_eq!((&third["hosts"], &found[3]["hosts"]), (&json!(["ie01"]), &json!([])));
    assert_eq!(sandbox.sql(".dump").matches("PASSWORD=s3cret").count(), 0);
}

#[test]
fn what_persons_do_is_in_the_audit_with_their_names_and_counts_as_no_decision() {
    let sandbox = incident().with("USER", "ada");
    let key = sandbox.opsctl(&["key"], b"");
    assert_eq!(key.code, Some(0), "{key:?}");
    let services = "services: {adguard: {containers: [adguardhome]}}";
    sandbox.write("hosts.yaml", &format!("{services}\npolicy:\n  {}\n", key.stdout.trim()));
    for arguments in [
        &["cooldown", "record", "adguardhome"][..],
        &["cooldown", "reset", "adguard"],
        &["grant", "adguard", "restart", "1", "--for", "1h", "--note", "PASSWORD=s3cret tonight"],
        &["cooldown", "forget", "adguard"],
        &["prune", "--keep", "90d"],
    ] {
        let run = sandbox.opsctl(arguments, b"");
        let is_done = run.code == Some(0);
        let found = decisions(&sandbox, &["--verdict", "operator", "--limit", "1"]);
        let last = found.first().map_or("", |it| it["command"].as_str().unwrap());
        assert_eq!(
            last.starts_with(&format!("opsctl {}", arguments[..2].join(" "))),
            is_done,
            "{last}: {run:?}"
        );
    }
    let found = decisions(&sandbox, &["--verdict", "operator", "--service", "adguard"]);
    let shown: Vec<String> =
        found.iter().map(|it| format!("{} {}", it["person"], it["command"]).replace('"', "")).collect();
    assert_eq!(
        shown,
        [
            "ada opsctl grant adguard restart 1 --for 1h --note 'PASSWORD=[redacted]'",
            "ada opsctl cooldown reset adguard",
            "ada opsctl cooldown record adguardhome",
        ]
    );
    let run = sandbox.opsctl(&["audit", "--verdict", "operator", "--limit", "1"], b"");
    assert!(run.stdout.contains("opsctl prune --keep 90d") && run.stdout.contains("by ada"), "{run:?}");
    let run = sandbox.command_with(&["cooldown", "record", "adguard"], &[("CLAUDE_CODE_SESSION_ID", "c1")]);
    assert!(run.status.success(), "{run:?}");
    let found = decisions(&sandbox, &["--verdict", "operator", "--limit", "1"]);
    assert_eq!((&found[0]["person"], &found[0]["session"]), (&json!("agent"), &json!("c1")), "{found:?}");
    let stats = sandbox.opsctl(&["stats"], b"");
    assert!(!stats.stdout.contains("operator"), "{stats:?}");
}

#[test]
fn decisions_are_found_by_service_verdict_rule_session_and_time() {
    let sandbox = incident();
    for (arguments, count) in [
        (&["--service", "adguardhome"][..], 3),
        (&["--verdict", "deny"], 2),
        (&["--rule", "budget"], 1),
        (&["--session", "sess-abc-123"], 5),
        (&["--session", "another"], 0),
        (&["--since", "1h"], 5),
        (&["--until", "1h"], 0),
        (&["--until", "2099-01-01T00:00:00Z"], 5),
        (&["--host", "ie01"], 1),
        (&["--host", "ie02"], 0),
        (&["--command", "docker restart"], 4),
        (&["--command", "Docker"], 0),
        (&["--tier", "2"], 5),
        (&["--tier", "3"], 0),
        (&["--since", "2099-01-01T00:00:00Z"], 0),
        (&["--limit", "2"], 2),
    ] {
        assert_eq!(decisions(&sandbox, arguments).len(), count, "{arguments:?}");
    }
    let run = sandbox.opsctl(&["audit", "--service", "ard"], b"");
    assert_eq!(run.code, Some(1), "a part of a name has no decisions: {run:?}");
    let run = sandbox.opsctl(&["audit", "--since", "yesterday"], b"");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("write how long ago, such as `2h`"), "{run:?}");
    let run = sandbox.opsctl(&["audit", "--limit", "1", "--relative"], b"");
    assert!(
        run.stdout.contains(
            "s ago  deny     forbidden  2     -     docker restart $(docker ps -q)  Forbidden at every tier"
        ),
        "{run:?}"
    );
}

#[test]
fn all_records_of_a_large_ledger_are_printed_oldest_first() {
    let sandbox = incident();
    // 12,000 more, with an event behind every third.
    sandbox.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
         INSERT INTO hook_decisions (at, verdict, rule, actions, services, budgets, reason)
         SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now', i || ' seconds'), 'deny', 'tier', '', '', '', 'number ' || i FROM n;
         INSERT INTO events (level, service, message, created_at)
         SELECT 'info', 'adguard', 'event ' || reason, at FROM hook_decisions WHERE rule = 'tier' AND id % 3 = 0",
    );
    let all = |verb, options: &[&str]| -> Vec<String> {
        let run = sandbox.opsctl(&[&[verb, "--all"], options].concat(), b"");
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        run.stdout.lines().map(str::to_owned).collect()
    };
    let ids = all("audit", &["--json"]).into_iter().map(|line| {
        let decision: Value = serde_json::from_str(&line).unwrap();
        decision["id"].as_i64().unwrap()
    });
    assert!(ids.eq(1..=12_005));
    assert_eq!(all("audit", &["--verdict", "allow"]).len(), 3);
    assert_eq!(all("audit", &["--since", "2099-01-01T00:00:00Z"]), [""; 0]);

    let events = all("events", &[]);
    let invented: Vec<&String> = events.iter().filter(|line| line.contains("number ")).collect();
    assert_eq!(invented.len(), 16_000);
    assert!(invented.is_sorted_by_key(|line| line.split(" | ").next().unwrap().to_owned()));
    assert_eq!(all("events", &["--level", "denied"]).len(), 12_002);

    let run = sandbox.opsctl(&["audit", "--json", "--limit", "10001"], b"");
    let listed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, listed["decisions"].as_array().unwrap().len()), (Some(0), 10_000));
    assert!(run.stderr.contains("a list has at most 10000 entries"), "{run:?}");
    assert_eq!(sandbox.opsctl(&["audit", "--all", "--follow"], b"").code, Some(1));
}

#[test]
fn a_guard_that_failed_is_in_the_audit_once_the_ledger_is_back() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("claudeops.db")).unwrap();
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    std::fs::remove_dir(sandbox.path("claudeops.db")).unwrap();
    passes(&sandbox.after("t2", "docker restart sonarr"));
    let found = decisions(&sandbox, &["--verdict", "fail-open", "--service", "jellyfin"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (&found[0]["actions"], &found[0]["rules"]),
        (&json!("docker restart jellyfin"), &json!(["on_failure"]))
    );
}

#[test]
fn stats_shows_durations_and_denials() {
    let sandbox = incident();
    let run = sandbox.opsctl(&["stats", "--json"], b"");
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["decisions"], json!([{"name": "allow", "count": 3}, {"name": "deny", "count": 2}]));
    assert_eq!(json["rules"], json!([{"name": "budget", "count": 1}, {"name": "forbidden", "count": 1}]));
    let [post, pre] = [&json["hooks"][0], &json["hooks"][1]];
    assert_eq!((&post["event"], &post["calls"]), (&json!("post-tool-use"), &json!(2)));
    assert_eq!((&pre["event"], &pre["calls"]), (&json!("pre-tool-use"), &json!(5)));
    let [p50, p99] = ["p50_ms", "p99_ms"].map(|name| pre[name].as_f64().unwrap());
    assert!(0.0 < p50 && p50 <= p99, "{json}");
    let run = sandbox.opsctl(&["stats"], b"");
    assert!(run.stdout.contains("RULE       DENIALS\nbudget     1\nforbidden  1\n"), "{run:?}");
    let empty = Sandbox::new().opsctl(&["stats", "--since", "1h"], b"");
    let nothing = "no hooks recorded\nno decisions\nno denials\n";
    assert_eq!((empty.code, empty.stdout.as_str()), (Some(0), nothing));
}

#[test]
fn an_altered_audit_is_found_and_a_signed_head_shows_a_new_chain() {
    let sandbox = incident();
    let verify = |arguments: &[&str]| sandbox.opsctl(&[&["audit", "verify"], arguments].concat(), b"");
    let whole = verify(&[]);
    assert_eq!((whole.code, whole.stderr.as_str()), (Some(0), ""));
    assert!(whole.stdout.starts_with("5 decisions verified\nhead: 5 "), "{whole:?}");
    let json: Value = serde_json::from_str(&verify(&["--json"]).stdout).unwrap();
    sandbox.write("head.json", &json["head"].to_string());
    assert_eq!(verify(&["--head", "head.json"]).code, Some(0));
    // A denial is removed, and the chain written anew: as the ledger's owner can.
    sandbox.sql("DELETE FROM hook_decisions WHERE id = 5; UPDATE audit_head SET entries = 4, hash = (SELECT hash FROM hook_decisions WHERE id = 4)");
    assert_eq!(verify(&[]).code, Some(0));
    let other = verify(&["--head", "head.json"]);
    assert_eq!(other.code, Some(1));
    assert!(other.stderr.contains("no row has the number 5"), "{other:?}");
    sandbox.sql("UPDATE hook_decisions SET reason = '' WHERE id = 3");
    let changed = verify(&[]);
    assert_eq!(changed.code, Some(1));
    assert!(changed.stderr.contains("the audit has been altered: row 3 of 2"), "{changed:?}");
    let refused = sandbox.opsctl(&["audit", "verify", "--head", "hosts.yaml"], b"");
    assert!(refused.stderr.contains("hosts.yaml is no head of `opsctl audit sign`"), "{refused:?}");
}

#[test]
fn the_audit_is_exported_in_three_formats() {
    let sandbox = incident();
    let export = |format: &str| sandbox.opsctl(&["audit", "--export", format], b"").stdout;
    let lines: Vec<Value> = export("jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[2]["verdict"]), (5, &json!("deny")));
    let csv = export("csv");
    assert!(csv.starts_with("id,at,verdict,rules,tier,"), "{csv}");
    assert_eq!(csv.matches("\r\n").count(), 6, "{csv}");
    let events: Vec<Value> = export("ocsf").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<_> =
        events.iter().map(|it| (&it["class_uid"], &it["action_id"], &it["metadata"]["uid"])).collect();
    assert_eq!(shown[2], (&json!(1007), &json!(2), &json!("3")));
    assert_eq!(events[0]["process"]["cmd_line"], "PASSWORD=[redacted] docker restart adguardhome");
}

/// A stand-in for docker: it states that a container runs, and what it was asked.
const DOCKER: &str = "#!/bin/sh\necho \"docker $*\" >>asked\n[ \"$1\" = inspect ] && echo running\nexit 0\n";

#[test]
fn the_state_before_an_action_is_recorded_with_the_command_that_returns_to_it() {
    let sandbox = Sandbox::new();
    let docker = sandbox.write("bin/docker", DOCKER);
    std::fs::set_permissions(docker, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap());
    let sandbox = sandbox.with("PATH", &path).with("CLAUDEOPS_TIER", "2");
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\n");
    passes(&sandbox.before("t1", "docker stop jellyfin"));
    passes(&sandbox.after("t1", "docker stop jellyfin"));
    // A restart changes no state, and what is denied runs not at all.
    passes(&sandbox.before("t2", "docker restart jellyfin"));
    passes(&sandbox.after("t2", "docker restart jellyfin"));
    denied(&sandbox.before("t3", "docker stop jellyfin && reboot"));
    let undo: Vec<Value> = decisions(&sandbox, &[]).into_iter().map(|found| found["undo"].clone()).collect();
    let expected = "jellyfin was: running; to return: docker start jellyfin";
    assert_eq!(undo, [json!(null), json!(null), json!(expected)]);
    let asked = sandbox.read("asked");
    assert_eq!(asked, "docker inspect --type=container --format={{.State.Status}} jellyfin\n");
    // It is part of the chain, and of the formats of other programs.
    assert_eq!(sandbox.opsctl(&["audit", "verify"], b"").code, Some(0));
    for format in ["csv", "jsonl"] {
        let exported = sandbox.opsctl(&["audit", "--export", format], b"").stdout;
        assert_eq!(exported.matches(expected).count(), 1, "{format}: {exported}");
    }
    assert!(sandbox.opsctl(&["audit"], b"").stdout.contains(expected));
    assert_eq!(sandbox.opsctl(&["report", "--html", "report.html"], b"").code, Some(0));
    assert!(sandbox.read("report.html").contains("to return: docker start jellyfin"));
}
