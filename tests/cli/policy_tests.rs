//! `opsctl test`: tests of a policy, as an operator writes them and as the audit gives them.

use crate::sandbox::{Sandbox, denied, passes};

const HOSTS: &str = "hosts: {nas: {address: 10.0.0.5}}\nservices: {jellyfin: {containers: [jf], host: nas}}\npolicy: {tier: 1}\n";

fn sandbox(tests: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", HOSTS);
    sandbox.write("tests.yaml", tests);
    sandbox
}

#[test]
fn tests_state_tier_host_mode_and_history_and_each_expectation_can_fail() {
    let passing = "tests:
  - {command: docker restart jf, host: nas, tier: 2, expect: {decision: allow, service: jellyfin, effect: acts}}
  - command: docker restart jf
    host: nas
    tier: 2
    history:
      - {service: jellyfin, kind: restart, ago: 3h59m}
      - {service: jellyfin, kind: restart, ago: 1m, failed: true}
    expect: {decision: deny, rule: budget}
  - command: docker restart jf
    host: nas
    tier: 2
    history: [{service: jellyfin, kind: restart, ago: 4h1m}, {service: jellyfin, kind: restart, ago: 1m}]
    expect: {decision: allow}
  - {command: docker restart jf, host: nas, expect: {decision: deny, rule: tier}}
  - {command: mail -s x ann@example.net, tier: 3, mode: mission, expect: {decision: deny, rule: mode}}
  - {call: {tool_name: Write, tool_input: {file_path: /etc/x, content: text}}, tier: 3, expect: {rule: protect}}
";
    let sandbox = sandbox(passing);
    // The ledger of this machine does not count.
    let busy = Sandbox::new().with("CLAUDEOPS_TIER", "2");
    passes(&busy.before("t1", "docker restart jf"));
    let run = sandbox.opsctl(&["test"], b"");
    assert_eq!((run.code, run.stdout.matches("\nok ").count()), (Some(0), 6), "{run:?}");
    assert!(
        run.stdout.starts_with("TAP version 14\n1..6\nok 1 - docker restart jf on nas at tier 2\n"),
        "{run:?}"
    );
    for (right, wrong, what) in [
        (
            "service: jellyfin, effect",
            "service: sonarr, effect",
            "  service: {expected: \"sonarr\", found: \"jellyfin\"}\n",
        ),
        ("effect: acts", "effect: reads", "  effect: {expected: \"reads\", found: \"acts\"}\n"),
        ("rule: budget", "rule: never", "  rule: {expected: \"never\", found: \"budget\"}\n"),
        ("3h59m", "4h1m", "  decision: {expected: \"deny\", found: \"allow\"}\n"),
        ("rule: mode", "rule: tier", "  rule: {expected: \"tier\", found: \"mode\"}\n"),
    ] {
        sandbox.write("tests.yaml", &passing.replacen(right, wrong, 1));
        let run = sandbox.opsctl(&["test"], b"");
        assert_eq!((run.code, run.stdout.matches("not ok ").count()), (Some(1), 1), "{wrong}: {run:?}");
        assert!(run.stdout.contains(what), "{wrong}: {run:?}");
    }
    let run = sandbox.opsctl(&["test", "--format", "junit"], b"");
    assert!(run.stdout.contains("tests=\"6\" failures=\"1\""), "{run:?}");
    assert!(run.stdout.contains("<failure message=\"rule: expected tier, found mode\">"), "{run:?}");
}

#[test]
fn a_mistake_in_a_test_is_one_line_with_its_remedy() {
    for (tests, why) in [
        (
            "tests:\n  - comand: ls\n    expect: {decision: allow}\n",
            "tests.yaml, line 2: invalid YAML (unknown field `comand`",
        ),
        ("tests:\n  - {command: ls, expect: {}}\n", "test 1 (`ls`): `expect` states nothing"),
        ("tests:\n  - {expect: {decision: deny}}\n", "state a `command`, or a `call`"),
        ("tests:\n  - {command: ls, tier: 7, expect: {decision: deny}}\n", "`tier` is 1, 2 or 3"),
        ("tests:\n  - {command: ls, expect: {decision: maybe}}\n", "`decision` is allow, deny or ask"),
        (
            "tests:\n  - {command: ls, history: [{service: a, kind: restart, ago: soon}], expect: {decision: deny}}\n",
            "`ago` is a duration",
        ),
    ] {
        let run = sandbox(tests).opsctl(&["test"], b"");
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.contains(why) && run.stderr.lines().count() == 1, "{why}: {run:?}");
    }
    let none = Sandbox::new();
    none.write("hosts.yaml", HOSTS);
    let run = none.opsctl(&["test"], b"");
    assert_eq!(run.code, Some(0), "an image can be built without tests: {run:?}");
    assert!(run.stdout.ends_with("tests.yaml: nothing is tested\n"), "{run:?}");
}

#[test]
fn the_audit_becomes_tests_that_pass_until_the_policy_changes() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "2");
    sandbox.write("hosts.yaml", HOSTS);
    for (id, command) in
        [("t1", "docker restart jf"), ("t2", "docker restart jf"), ("t3", "systemctl restart 'a b'")]
    {
        passes(&sandbox.before(id, command));
    }
    denied(&sandbox.before("t4", "docker restart jf"));
    denied(&sandbox.before("t5", "docker volume rm data"));
    passes(&sandbox.before("t6", "PASSWORD=s3cret docker restart other"));
    let run = sandbox.opsctl(&["test", "--init", "new.yaml"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    let written = sandbox.read("new.yaml");
    let count = |text: &str| written.matches(text).count();
    assert_eq!(
        (count("- command:"), count("docker restart jf"), count("s3cret"), count("rule: never")),
        (3, 1, 0, 1),
        "{written}"
    );
    let run = sandbox.opsctl(&["test", "new.yaml"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    sandbox.write("hosts.yaml", &HOSTS.replace("policy: {", "policy: {tiers: {2: {allow: []}}, "));
    let run = sandbox.opsctl(&["test", "new.yaml"], b"");
    assert_eq!((run.code, run.stdout.matches("not ok ").count()), (Some(1), 2), "{run:?}");
    let again = sandbox.opsctl(&["test", "--init", "new.yaml"], b"");
    assert!(again.code == Some(1) && again.stderr.contains("name a new file"), "{again:?}");
}
