//! Questions to a person: what is asked, answers, grants, and attempts of an agent to answer itself.

mod forgery;
mod whole;

use serde_json::{Value, json};

use crate::fake_client::{fake_client, hook, hook_of};
use crate::guard_process::Guarded;
use crate::sandbox::{Run, Sandbox, call, denied, passes};

const SESSION: &str = "sess-abc-123";

/// A sandbox with a key pair and a policy that asks about `topics`.
fn asking(topics: &str, rest: &str) -> Sandbox {
    let sandbox = Sandbox::new().with("USER", "ann");
    let key = sandbox.opsctl(&["key"], b"");
    assert_eq!(key.code, Some(0), "{key:?}");
    let key = key.stdout.trim();
    sandbox.write(
        "hosts.yaml",
        &format!("services: {{jellyfin: {{}}, sonarr: {{}}}}\npolicy:\n  ask: {topics}\n  {key}\n{rest}"),
    );
    sandbox.write("cooldown.json", "{}");
    sandbox
}

fn before(sandbox: &Sandbox, id: &str, command: &str) -> Run {
    hook(sandbox, &call(id, command))
}

/// The decision that the client reads, and its reason.
fn decision(run: &Run) -> (String, String) {
    let output: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
    let output = &output["hookSpecificOutput"];
    let text = |key: &str| output[key].as_str().unwrap_or_default().to_owned();
    (text("permissionDecision"), text("permissionDecisionReason"))
}

#[track_caller]
fn deferred(run: &Run) -> String {
    let (decision, reason) = decision(run);
    assert_eq!((run.code, decision.as_str()), (Some(0), "defer"), "{run:?}");
    reason
}

#[track_caller]
fn allowed(run: &Run) {
    assert_eq!((run.code, decision(run).0.as_str()), (Some(0), ""), "{run:?}");
}

#[track_caller]
fn did(run: &Run) -> &Run {
    assert_eq!(run.code, Some(0), "{run:?}");
    run
}

/// Two restarts that use up the budget of jellyfin.
fn spend(sandbox: &Sandbox) {
    for id in ["t1", "t2"] {
        allowed(&before(sandbox, id, "docker restart jellyfin"));
        passes(&sandbox.after(id, "docker restart jellyfin"));
    }
}

const THIRD: &str = "docker restart jellyfin";

/// A third restart, which is asked about as question 1.
fn asked() -> Sandbox {
    let sandbox = asking("[budget]", "");
    spend(&sandbox);
    deferred(&before(&sandbox, "t3", THIRD));
    sandbox
}

fn answer(sandbox: &Sandbox, arguments: &[&str]) -> Run {
    sandbox.opsctl(arguments, b"")
}

fn count(sandbox: &Sandbox) -> String {
    sandbox.sql("SELECT count(*) FROM cooldown_actions")
}

#[test]
fn a_spent_budget_is_asked_about_and_an_approval_allows_it_once() {
    let sandbox = asking("[budget]", "");
    spend(&sandbox);
    let reason = deferred(&before(&sandbox, "t3", THIRD));
    assert!(
        reason.starts_with("Question 1 to a person. Cooldown limit exceeded for jellyfin: 2/2"),
        "{reason}"
    );
    assert_eq!(sandbox.sql("SELECT count(*) FROM hook_actions WHERE state = 'reserved'"), "0");
    let listed = answer(&sandbox, &["approvals", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let question = &listed["approvals"][0];
    assert_eq!(
        (&question["id"], &question["session"], &question["command"], &question["state"]),
        (&json!(1), &json!(SESSION), &json!(THIRD), &json!("open"))
    );
    assert_eq!(question["actions"], json!(["a restart (`docker restart jellyfin`)"]));
    // Asked again: the same question.
    deferred(&before(&sandbox, "t3", THIRD));
    assert_eq!(sandbox.sql("SELECT count(*) FROM questions"), "1");
    did(&answer(&sandbox, &["approve", "1", "--note", "go on"]));
    let run = before(&sandbox, "t3", THIRD);
    allowed(&run);
    assert!(run.stdout.contains("Question 1 was approved by ann at "), "{run:?}");
    passes(&sandbox.after("t3", THIRD));
    assert_eq!(count(&sandbox), "3");
    assert!(denied(&before(&sandbox, "t3", THIRD)).contains("The approval of question 1 was used"));
    assert_eq!(
        sandbox.sql("SELECT verdict, rule FROM hook_decisions WHERE rule <> '' ORDER BY id"),
        "deny|ask budget\ndeny|ask budget\nallow|ask\ndeny|budget ask"
    );
    let audit = sandbox.sql("SELECT reason FROM hook_decisions WHERE verdict = 'allow' AND rule = 'ask'");
    assert!(
        audit.starts_with("Question 1 was approved by ann at 20") && audit.ends_with(": go on"),
        "{audit}"
    );
    assert_eq!(
        sandbox.sql("SELECT person, command FROM hook_decisions WHERE verdict = 'operator'"),
        "ann|opsctl approve 1"
    );
    let events = sandbox.sql("SELECT message FROM events WHERE message LIKE 'Question%' ORDER BY id");
    assert_eq!(
        events,
        "Question 1 to a person: a restart (`docker restart jellyfin`)\n\
         Question 1 approved by ann: a restart (`docker restart jellyfin`) (go on)"
    );
}

#[test]
fn a_refusal_reaches_the_model_and_is_not_asked_again() {
    let sandbox = asked();
    did(&answer(&sandbox, &["refuse", "1", "--note", "the backup runs"]));
    let reason = denied(&before(&sandbox, "t3", THIRD));
    assert!(reason.contains("ann refused question 1: the backup runs."), "{reason}");
    let reason = denied(&before(&sandbox, "t4", THIRD));
    assert!(reason.contains("It is not asked again in this session."), "{reason}");
    assert_eq!(sandbox.sql("SELECT count(*) FROM questions"), "1");
}

#[test]
fn an_answer_is_given_once_in_time_and_to_a_known_question() {
    let sandbox = asked();
    let failed = |arguments: &[&str], text: &str| {
        let run = answer(&sandbox, arguments);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains(text), "{run:?}");
    };
    failed(&["approve", "7"], "no question 7");
    did(&answer(&sandbox, &["approve", "1"]));
    failed(&["refuse", "1"], "question 1 is approved already: ann answered it");
    let sandbox = asked();
    sandbox.sql("UPDATE questions SET expires_at = '2026-01-01T00:00:00Z'");
    let run = answer(&sandbox, &["approve", "1"]);
    assert!(run.stderr.contains("question 1 has expired"), "{run:?}");
    assert!(denied(&before(&sandbox, "t3", THIRD)).contains("No person answered question 1 by 2026-01-01"));
}

#[test]
fn a_session_asks_one_question_at_a_time() {
    let sandbox = asked();
    for id in ["u1", "u2"] {
        allowed(&before(&sandbox, id, "docker restart sonarr"));
    }
    let reason = denied(&before(&sandbox, "u3", "docker restart sonarr"));
    assert!(reason.contains("question 1 of this session is still open"), "{reason}");
    let mut of_another = call("x1", THIRD);
    of_another["session_id"] = json!("another");
    deferred(&hook(&sandbox, &of_another));
}

#[test]
fn questions_are_limited_per_session_and_in_total() {
    let sandbox = asking("[{about: budget, limit: 2, total: 3}]", "");
    spend(&sandbox);
    for (id, question) in [("a", "1"), ("b", "2")] {
        deferred(&before(&sandbox, id, &format!("docker restart jellyfin # {id}")));
        did(&answer(&sandbox, &["refuse", question]));
    }
    let reason = denied(&before(&sandbox, "c", "docker restart jellyfin # c"));
    assert!(
        reason.contains("this session has asked 2 questions in the last 1h, and 2 are allowed"),
        "{reason}"
    );
    let of = |session: &str| {
        let mut input = call("d", THIRD);
        input["session_id"] = json!(session);
        hook(&sandbox, &input)
    };
    deferred(&of("second"));
    assert!(denied(&of("third")).contains("3 questions were asked in the last 1h, and 3 are allowed"));
}

#[test]
fn a_client_that_cannot_wait_gets_a_denial() {
    let sandbox = asking("[budget]", "");
    spend(&sandbox);
    let third = call("t3", THIRD);
    // No client at all, one that does not know `defer`, and one without `-p` and without a person at its terminal.
    denied(&sandbox.before("t3", THIRD));
    denied(&hook_of(&sandbox, "2.1.290", &["-p"], &third));
    denied(&hook_of(&sandbox, "2.1.330", &["--verbose"], &third));
    let mut of_subagent = third.clone();
    of_subagent["agent_id"] = json!("a1");
    assert!(denied(&hook(&sandbox, &of_subagent)).contains("the calls of subagents cannot wait"));
    for key in ["session_id", "tool_use_id", "cwd"] {
        let mut without = third.clone();
        without.as_object_mut().unwrap().remove(key);
        denied(&hook(&sandbox, &without));
    }
    assert_eq!(sandbox.sql("SELECT count(*) FROM questions"), "0");
    deferred(&hook(&sandbox, &third));
}

#[test]
fn at_a_terminal_the_client_asks_and_the_question_is_used_when_the_call_has_run() {
    let sandbox = asking("[budget]", "").with("CLAUDE_SESSION_MODE", "interactive");
    let at_terminal = |id| hook_of(&sandbox, "2.1.330", &["--verbose"], &call(id, THIRD));
    for id in ["t1", "t2"] {
        passes(&at_terminal(id));
        passes(&sandbox.after(id, THIRD));
    }
    let run = at_terminal("t3");
    assert_eq!((run.code, decision(&run).0.as_str()), (Some(0), "ask"), "{run:?}");
    assert_eq!(answer(&sandbox, &["approvals"]).stdout, "no open questions\n");
    let refused = answer(&sandbox, &["approve", "1"]);
    assert!(refused.stderr.contains("question 1 is asked at the terminal of its session"), "{refused:?}");
    // It counts as soon as it may run, like an allowed call.
    assert_eq!(sandbox.sql("SELECT count(*) FROM hook_actions WHERE state = 'reserved'"), "1");
    passes(&sandbox.after("t3", THIRD));
    assert_eq!(count(&sandbox), "3");
    assert_eq!(sandbox.sql("SELECT used_at IS NOT NULL FROM questions"), "1");
    // In a headless session, no person is at the terminal, also in this mode.
    deferred(&before(&sandbox, "t4", THIRD));
}

#[test]
fn only_what_is_listed_is_asked_about_and_never_the_guard_files_and_secrets() {
    let tiers = "  tiers: {1: {deny: [\"git push\"]}}\n";
    let sandbox = asking("[tier, changes, prune]", tiers).with("CLAUDEOPS_TIER", "1");
    let mut number = 0;
    let mut verdict = |command: &str| {
        number += 1;
        let mut input = call(&format!("t{number}"), command);
        input["session_id"] = json!(format!("s{number}"));
        input["cwd"] = json!(sandbox.path("").to_str().unwrap());
        let run = hook(&sandbox, &input);
        if run.code == Some(2) {
            "denied"
        } else if decision(&run).0 == "defer" {
            "asked"
        } else {
            "allowed"
        }
    };
    for (command, expected) in [
        ("docker ps", "allowed"),
        (THIRD, "asked"),
        ("git push origin fix", "asked"),
        ("kubectl apply -f x.yaml", "asked"),
        ("docker system prune -af", "asked"),
        ("docker restart jellyfin; docker system prune -af", "asked"),
        // `unknown` is not listed, nor is this rule.
        ("./unknown-program", "denied"),
        ("docker volume rm data", "denied"),
        ("docker restart jellyfin; docker volume rm data", "denied"),
        // An action that cannot be counted, and everything at once.
        ("while read x; do docker restart jellyfin; done", "denied"),
        ("docker restart $(docker ps -q)", "denied"),
        // The guard itself, protected and secret files.
        ("opsctl cooldown reset jellyfin", "denied"),
        ("opsctl approve 1", "denied"),
        ("opsctl refuse 1", "denied"),
        ("opsctl grant jellyfin restart 1 --for 1h", "denied"),
        ("opsctl key", "denied"),
        ("env -u CLAUDE_CODE_SESSION_ID opsctl approve 1", "denied"),
        ("cp x .claude/settings.json", "denied"),
        ("cat approval.key", "denied"),
        ("cp approval.key /tmp/x", "denied"),
        ("openssl pkey -in approval.key", "denied"),
        ("cp /tmp/own.key approval.key", "denied"),
        ("sed -i s/ed25519:.*/ed25519:x/ hosts.yaml", "denied"),
        ("sed -i s/budget// .claude/opsctl/policy.json", "denied"),
        ("sqlite3 claudeops.db \"INSERT INTO question_answers VALUES (1)\"", "denied"),
        ("opsctl approvals", "allowed"),
    ] {
        assert_eq!(verdict(command), expected, "{command}");
    }
    let dry_run = asking("[budget, tier, changes, unknown]", "").with("CLAUDEOPS_DRY_RUN", "true");
    denied(&before(&dry_run, "t1", THIRD));
}

#[test]
fn an_approval_does_not_lift_what_the_tier_had_hidden() {
    let hosts = "hosts: {ie01: {address: 192.0.2.1}}\nprograms: {}\n";
    let sandbox = asking("[tier, changes]", hosts).with("CLAUDEOPS_TIER", "1");
    let reason = denied(&before(&sandbox, "t1", "ssh stranger docker restart jellyfin"));
    assert!(reason.contains("`stranger` is not a host of hosts.yaml"), "{reason}");
    deferred(&before(&sandbox, "t2", "ssh ie01 docker restart jellyfin"));
    did(&answer(&sandbox, &["approve", "1"]));
    allowed(&before(&sandbox, "t2", "ssh ie01 docker restart jellyfin"));
    passes(&sandbox.after("t2", "ssh ie01 docker restart jellyfin"));
    assert_eq!(count(&sandbox), "1");
}

#[test]
fn a_script_that_has_changed_since_it_was_approved_does_not_run() {
    let sandbox = asking("[budget]", "");
    spend(&sandbox);
    sandbox.write("fix.sh", "docker restart jellyfin\n");
    let mut input = call("t3", "bash fix.sh");
    input["cwd"] = json!(sandbox.path("").to_str().unwrap());
    deferred(&hook(&sandbox, &input));
    did(&answer(&sandbox, &["approve", "1"]));
    sandbox.write("fix.sh", "docker restart jellyfin\ndocker restart sonarr\n");
    let reason = denied(&hook(&sandbox, &input));
    assert!(reason.contains("a file that it runs has changed"), "{reason}");
    sandbox.write("fix.sh", "docker restart jellyfin\n");
    allowed(&hook(&sandbox, &input));
}

#[test]
fn a_grant_gives_budget_in_advance_until_it_is_used_up() {
    let sandbox = asking("[budget]", "");
    spend(&sandbox);
    let run = answer(&sandbox, &["grant", "jellyfin", "restart", "1", "--for", "1h", "--note", "migration"]);
    assert!(did(&run).stdout.starts_with("grant 1: 0 of 1 restarts of jellyfin used, until "), "{run:?}");
    let explained = answer(&sandbox, &["explain", "--json", THIRD]);
    assert!(explained.stdout.contains("\"decision\":\"allow\""), "{explained:?}");
    // Another service and another kind have none of it.
    deferred(&before(&sandbox, "r1", "docker restart jellyfin jellyfin"));
    did(&answer(&sandbox, &["refuse", "1"]));
    let run = sandbox.before("t3", THIRD);
    allowed(&run);
    assert!(run.stdout.contains("1 restart of jellyfin granted by ann (grant 1): migration"), "{run:?}");
    // A reservation that is released leaves the grant free again.
    passes(&sandbox.refused("t3"));
    allowed(&sandbox.before("t4", THIRD));
    passes(&sandbox.after("t4", THIRD));
    denied(&sandbox.before("t5", THIRD));
    assert_eq!(count(&sandbox), "3");
    let listed: Value = serde_json::from_str(&answer(&sandbox, &["approvals", "--json"]).stdout).unwrap();
    assert_eq!((&listed["grants"][0]["used"], &listed["grants"][0]["by"]), (&json!(1), &json!("ann")));
    for verb in [["cooldown", "show"], ["status", "--no-hosts"]] {
        assert!(
            answer(&sandbox, &verb).stdout.contains("grant 1: 1 of 1 restarts of jellyfin used"),
            "{verb:?}"
        );
    }
    assert_eq!(
        sandbox.sql("SELECT rule, reason FROM hook_decisions WHERE tool_use_id = 't4'"),
        "ask|1 restart of jellyfin granted by ann (grant 1): migration"
    );
}

#[test]
fn explain_says_that_a_call_would_be_asked_about() {
    let sandbox = asking("[budget]", "");
    spend(&sandbox);
    let run = answer(&sandbox, &["explain", "--json", THIRD]);
    let explained: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&explained["decision"], &explained["asks"]), (&json!("deny"), &json!(true)));
    assert!(explained["reasons"][0].as_str().unwrap().starts_with("Cooldown limit exceeded"), "{run:?}");
    let run = answer(&sandbox, &["explain", "--json", "docker restart sonarr"]);
    assert!(!run.stdout.contains("asks"), "{run:?}");
    assert!(
        answer(&sandbox, &["explain", THIRD]).stdout.contains("decision: deny, until a person approves it")
    );
    assert_eq!(sandbox.sql("SELECT count(*) FROM questions"), "0");
}

#[test]
fn the_status_begins_with_open_questions() {
    let sandbox = asked();
    let status = answer(&sandbox, &["status", "--no-hosts"]);
    assert!(
        status
            .stdout
            .contains("questions that wait for an answer:\n  1 | docker restart jellyfin | expires in "),
        "{status:?}"
    );
    let status: Value =
        serde_json::from_str(&answer(&sandbox, &["status", "--no-hosts", "--json"]).stdout).unwrap();
    assert_eq!(status["questions"][0]["id"], json!(1));
}

#[test]
fn prune_deletes_old_questions_with_their_answers_and_old_grants_with_their_uses() {
    let sandbox = asked();
    did(&answer(&sandbox, &["approve", "1"]));
    did(&answer(&sandbox, &["grant", "jellyfin", "restart", "1", "--for", "1h"]));
    allowed(&before(&sandbox, "t4", THIRD));
    let rows = || {
        ["questions", "question_answers", "grants", "grant_uses"]
            .map(|table| sandbox.sql(&format!("SELECT count(*) FROM {table}")))
    };
    did(&answer(&sandbox, &["prune", "--keep", "90d"]));
    assert_eq!(rows(), ["1"; 4]);
    sandbox.sql("UPDATE questions SET asked_at = '2020-01-01T00:00:00Z'; UPDATE grants SET expires_at = '2020-01-01T00:00:00Z'");
    did(&answer(&sandbox, &["prune", "--keep", "90d"]));
    assert_eq!(rows(), ["0"; 4]);
}

#[test]
fn without_a_ledger_nothing_is_asked() {
    let sandbox = asking("[budget]", "  on_failure: closed\n");
    sandbox.write("claudeops.db", "not a database");
    let reason = denied(&before(&sandbox, "t1", THIRD));
    assert!(reason.contains("policy.on_failure is closed"), "{reason}");
}

#[test]
fn verbs_of_persons_need_the_key_of_the_policy() {
    let sandbox = asked();
    let failed = |sandbox: &Sandbox, arguments: &[&str], text: &str| {
        let run = answer(sandbox, arguments);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains(text), "{run:?}");
    };
    let grant = ["grant", "jellyfin", "restart", "1", "--for", "1h"];
    std::fs::rename(sandbox.path("approval.key"), sandbox.path("kept.key")).unwrap();
    for arguments in [&["approve", "1"][..], &["refuse", "1"], &grant] {
        failed(&sandbox, arguments, "no approval key at ");
    }
    // Another key.
    did(&answer(&sandbox, &["key"]));
    failed(&sandbox, &["approve", "1"], "policy.approval_key is not the public part of this key");
    failed(&sandbox, &grant, "policy.approval_key is not the public part of this key");
    std::fs::rename(sandbox.path("kept.key"), sandbox.path("approval.key")).unwrap();
    // An existing key is printed and not replaced.
    let kept = sandbox.read("approval.key");
    let printed = answer(&sandbox, &["key"]);
    assert!(sandbox.read("hosts.yaml").contains(printed.stdout.trim()), "{printed:?}");
    assert_eq!(sandbox.read("approval.key"), kept);
    let mut permissions = std::fs::metadata(sandbox.path("approval.key")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    std::fs::set_permissions(sandbox.path("approval.key"), permissions).unwrap();
    failed(&sandbox, &["approve", "1"], "may be read by other users (mode 0644)");
    for variable in ["CLAUDE_SESSION_ID", "CLAUDE_CODE_SESSION_ID"] {
        let sandbox = asked().with(variable, "s");
        for arguments in [&["approve", "1"][..], &["refuse", "1"], &grant, &["key"]] {
            failed(&sandbox, arguments, "this is an agent's shell");
        }
    }
    deferred(&before(&sandbox, "t3", THIRD));
}

#[test]
fn what_is_asked_needs_a_key_and_names_that_exist() {
    let sandbox = Sandbox::new();
    for (policy, mistake) in [
        ("{ask: [budget]}", "`ask` needs `approval_key` in hosts.yaml"),
        ("{ask: [budgets], approval_key: x}", "`budgets` is nothing that can be asked about"),
        ("{ask: [budgets], approval_key: x}", "did you mean `budget`?"),
        ("{ask: [remove-volumes], approval_key: x}", "did you mean `remove-volume`?"),
        ("{approval_key: \"ed25519:AAAA\"}", "is not a public key of Ed25519"),
        ("{ask: [budget, budget], approval_key: x}", "`budget` is asked about twice"),
        ("{ask: [{about: budget, timeout: soon}], approval_key: x}", "`soon` is not a duration"),
        ("{ask: [{about: budget, contact: \"a b\"}], approval_key: x}", "`a b` is not a tag"),
    ] {
        sandbox.write("hosts.yaml", &format!("services: {{jellyfin: {{}}}}\npolicy: {policy}\n"));
        let run = sandbox.opsctl(&["render", "--check"], b"");
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains(mistake), "{policy}: {run:?}");
    }
}

#[test]
fn the_guard_quotes_words_that_the_client_writes_after_it_called_the_hook() {
    let Guarded { guard, agent, .. } = &Guarded::with(asking("[budget]", ""), |agent| agent);
    agent.write("hosts.yaml", &std::fs::read_to_string(guard.path("hosts.yaml")).unwrap());
    spend(agent);
    agent.write("transcript.jsonl", "");
    let mut third = call("t3", "docker restart jellyfin");
    third["transcript_path"] = json!(agent.path("transcript.jsonl"));
    let run = std::thread::scope(|scope| {
        let asked = scope.spawn(|| hook(agent, &third));
        std::thread::sleep(std::time::Duration::from_millis(100));
        agent.write(
            "transcript.jsonl",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Its port is closed."},{"type":"tool_use","id":"t3"}]}}"#,
        );
        asked.join().unwrap()
    });
    deferred(&run);
    assert_eq!(guard.sql("SELECT words FROM questions"), "Its port is closed.");
}

#[test]
fn a_client_that_answers_the_guard_late_keeps_no_other_session_from_the_ledger() {
    let Guarded { guard, agent, .. } = &Guarded::with(asking("[budget]", ""), |agent| agent);
    agent.write("hosts.yaml", &std::fs::read_to_string(guard.path("hosts.yaml")).unwrap());
    spend(agent);
    let client = fake_client("2.1.331");
    let (wait, asked) = (client.with_file_name("wait"), client.with_file_name("asked"));
    std::fs::write(&wait, "").unwrap();
    std::thread::scope(|scope| {
        let late = scope.spawn(|| hook_of(agent, "2.1.331", &["-p"], &call("t3", THIRD)));
        while !asked.exists() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let mut other = call("u1", "docker restart sonarr");
        other["session_id"] = json!("another");
        let (began, run) = (std::time::Instant::now(), hook(agent, &other));
        let took = began.elapsed();
        std::fs::remove_file(&wait).unwrap();
        allowed(&run);
        assert!(took < std::time::Duration::from_secs(3), "{took:?}");
        deferred(&late.join().unwrap());
    });
    assert_eq!(guard.sql("SELECT service FROM hook_actions WHERE state = 'reserved'"), "sonarr");
}
