//! The daily digest, at times that the tests state.

use crate::sandbox::{Run, Sandbox};
use crate::target::{Manner, Target};
use crate::{listening, settled};

/// Central European time, stated by its rules, so that no zone file is needed.
const CENTRAL_EUROPE: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

/// A sandbox with this policy, in this time zone.
fn with_policy(target: &Target, zone: &str, policy: &str) -> Sandbox {
    let sandbox = listening(target).with("TZ", zone);
    let hosts = format!(
        "hosts: {{ie01: {{address: 127.0.0.1}}}}\nservices: {{jellyfin: {{host: ie01}}}}\npolicy: {{{policy}}}\n"
    );
    let hosts = sandbox.write("hosts.yaml", &hosts).display().to_string();
    sandbox.with("CLAUDEOPS_HOSTS", &hosts)
}

/// Raises the digest at a time if it is due, and returns how many have been recorded so far.
#[track_caller]
fn digests_at(sandbox: &Sandbox, time: &str) -> String {
    let run = sandbox.opsctl(&["notify", "--digest", "--now", time], b"");
    assert_eq!(run, Run { code: Some(0), stdout: String::new(), stderr: String::new() });
    sandbox.sql("SELECT count(*) FROM notices WHERE key = 'digest'")
}

#[track_caller]
fn assert_digests(sandbox: &Sandbox, steps: &[(&str, &str)]) {
    for (time, expected) in steps {
        assert_eq!(digests_at(sandbox, time), *expected, "at {time}");
    }
}

#[test]
fn a_digest_is_sent_once_a_day_at_its_time() {
    let target = Target::new(Manner::Takes);
    let sandbox = with_policy(&target, CENTRAL_EUROPE, "digest: '08:00'");
    assert_digests(
        &sandbox,
        &[
            ("2025-03-21T07:59:30+01:00", "0"),
            ("2025-03-21T08:00:00+01:00", "1"),
            ("2025-03-21T08:00:01+01:00", "1"),
            ("2025-03-21T23:59:59+01:00", "1"),
            ("2025-03-22T07:59:30+01:00", "1"),
            ("2025-03-22T08:04:00+01:00", "2"),
            ("2025-03-22T09:30:00+01:00", "2"),
        ],
    );
    assert_eq!(settled(&sandbox), "delivered delivered");
    assert_eq!(target.titles(), ["opsctl: daily digest"; 2]);
    assert_eq!(target.received()[0]["type"], "info");
    let raised = sandbox.sql("SELECT max(created_at) FROM notices");
    assert_eq!(raised, "2025-03-22T07:04:00Z");
    let file: serde_json::Value = serde_json::from_str(&sandbox.read("cooldown.json")).unwrap();
    assert_eq!(file["last_daily_digest"], raised.as_str());
}

#[test]
fn a_missed_digest_is_sent_at_the_next_opportunity_on_the_same_day() {
    let target = Target::new(Manner::Takes);
    let sandbox = with_policy(&target, CENTRAL_EUROPE, "digest: 08:00");
    assert_digests(
        &sandbox,
        &[
            ("2025-03-20T08:00:00+01:00", "1"),
            // Down on the whole 21st.
            ("2025-03-22T06:00:00+01:00", "1"),
            ("2025-03-22T22:10:00+01:00", "2"),
            ("2025-03-22T22:20:00+01:00", "2"),
            ("2025-03-23T08:00:00+01:00", "3"),
        ],
    );
    let since =
        "SELECT body LIKE 'Since 20 Mar 08:00 +01:00 (2 days):%' FROM notices ORDER BY id LIMIT 1 OFFSET 1";
    assert_eq!(sandbox.sql(since), "1");
}

#[test]
fn a_change_of_daylight_saving_time_neither_drops_nor_repeats_a_digest() {
    let target = Target::new(Manner::Takes);
    // 02:30 does not occur on 30 March, and occurs twice on 26 October.
    let sandbox = with_policy(&target, CENTRAL_EUROPE, "digest: '02:30'");
    assert_digests(
        &sandbox,
        &[
            ("2025-03-29T02:30:00+01:00", "1"),
            ("2025-03-30T01:59:59+01:00", "1"),
            ("2025-03-30T03:00:00+02:00", "2"),
            ("2025-03-31T02:29:00+02:00", "2"),
            ("2025-03-31T02:30:00+02:00", "3"),
            ("2025-10-25T02:31:00+02:00", "4"),
            ("2025-10-26T00:29:00Z", "4"),
            ("2025-10-26T00:31:00Z", "5"),
            ("2025-10-26T01:29:00Z", "5"),
            ("2025-10-26T01:31:00Z", "5"),
            ("2025-10-26T02:31:00Z", "5"),
            ("2025-10-27T02:30:00+01:00", "6"),
        ],
    );
}

#[test]
fn without_a_time_there_is_no_digest() {
    let target = Target::new(Manner::Takes);
    let sandbox = with_policy(&target, "UTC0", "");
    let run = sandbox.opsctl(&["notify", "--digest"], b"");
    assert_eq!(run, Run { code: Some(0), stdout: String::new(), stderr: String::new() });
    assert!(!sandbox.path("claudeops.db").exists());
}

#[test]
fn concurrent_processes_send_one_digest() {
    let target = Target::new(Manner::Takes);
    let sandbox = with_policy(&target, "UTC0", "digest: '08:00'");
    let mut running: Vec<_> = (0..8)
        .map(|_| sandbox.command(&["notify", "--digest", "--now", "2025-03-21T08:00:00Z"]).spawn().unwrap())
        .collect();
    for process in &mut running {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(settled(&sandbox), "delivered");
    assert_eq!(target.titles(), ["opsctl: daily digest"]);
}

#[test]
fn a_digest_that_the_agent_claims_to_have_sent_is_sent() {
    let target = Target::new(Manner::Takes);
    let sandbox = with_policy(&target, "UTC0", "digest: '08:00'");
    assert_eq!(sandbox.opsctl(&["cooldown", "digested"], b"").code, Some(0));
    assert_digests(&sandbox, &[("2025-03-21T08:01:00Z", "1")]);
}

#[test]
fn a_digest_states_what_happened_since_the_last_one() {
    let target = Target::new(Manner::Takes);
    let sandbox = with_policy(&target, "UTC0", "digest: '08:00'");
    assert_digests(&sandbox, &[("2025-03-20T08:00:00Z", "1")]);
    for (service, kind, at, failed) in [
        ("sonarr", "restart", "2025-03-20T07:30:00Z", None),
        ("jellyfin", "restart", "2025-03-21T05:00:00Z", Some("--failed")),
        ("jellyfin", "restart", "2025-03-21T06:00:00Z", None),
        ("jellyfin", "redeployment", "2025-03-21T07:00:00Z", None),
    ] {
        let words = ["cooldown", "record", service, "--kind", kind, "--at", at, "--force"];
        let run = sandbox.opsctl(&words.into_iter().chain(failed).collect::<Vec<_>>(), b"");
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    for (service, state) in [
        ("adguard", "unhealthy"),
        ("plex", "unhealthy"),
        ("gitea", "unhealthy"),
        ("gitea", "healthy"),
        ("gitea", "healthy"),
    ] {
        assert_eq!(sandbox.opsctl(&["cooldown", state, service, "--force"], b"").code, Some(0));
    }
    // Checks and resets have the time of the machine.
    sandbox.sql(
        "UPDATE service_checks SET at = iif(service = 'plex', '2025-03-20T07:30:00Z', '2025-03-21T07:10:00Z');
         UPDATE budget_resets SET at = '2025-03-21T07:10:00Z';
         INSERT INTO hook_decisions (at, session_id, verdict, rule, actions, services, budgets, reason) VALUES
             ('2025-03-20T07:00:00Z', 's', 'deny', 'tier', '', '', '', ''),
             ('2025-03-21T07:50:00Z', 's', 'allow', '', '', '', '', ''),
             ('2025-03-21T07:50:00Z', 's', 'deny', 'budget', '', '', '', '')",
    );
    sandbox.sql(
        "INSERT INTO client_runs (session_id, tier, model, started_at, outcome, cost_usd) VALUES
             ('a', 1, 'haiku', '2025-03-19T12:00:00Z', 'completed', 9.0),
             ('b', 1, 'haiku', '2025-03-20T12:00:00Z', 'completed', 0.5),
             ('c', 1, 'haiku', '2025-03-20T13:00:00Z', 'not_started', NULL),
             ('d', 2, 'sonnet', '2025-03-20T14:00:00Z', 'completed', 1.25),
             ('e', 3, 'opus', '2025-03-20T15:00:00Z', 'running', NULL);
         INSERT INTO events (created_at, level, service, message, source) VALUES
             ('2025-03-20T12:00:00Z', 'critical', 'jellyfin', 'gone with password=hunter2secret', 'llm'),
             ('2025-03-20T12:10:00Z', 'warning', NULL, 'disk' || char(10) || 'is full', 'llm'),
             ('2025-03-20T12:20:00Z', 'info', NULL, 'unimportant', 'llm'),
             ('2025-03-20T13:00:00Z', 'warning', 'sonarr', 'Unhealthy after remediation (attempt 1 of 2): 502', 'hook'),
             ('2025-03-20T13:00:00Z', 'warning', 'radarr', 'Unhealthy after remediation (attempt 1 of 2): 502', 'hook'),
             ('2025-03-20T13:05:00Z', 'info', 'radarr', 'Verified healthy after remediation', 'hook')",
    );
    assert_digests(&sandbox, &[("2025-03-21T08:00:00Z", "2")]);
    let body = sandbox.sql("SELECT body FROM notices WHERE key = 'digest' ORDER BY id DESC LIMIT 1");
    let expected = "\
Since 20 Mar 08:00 +00:00 (24 hours):

**Sessions: 4, $1.75**

- tier 1: 1 completed, 1 not started, $0.50
- tier 2: 1 completed, $1.25
- tier 3: 1 cut off, $0.00

**Actions: 3**

- jellyfin: 1 redeployment, 2 restarts (1 failed), left: 0 of 2 restarts and 0 of 1 redeployments

**Denials: 1**

- budget: 1

**Critical events: 1**

- 20 Mar 12:00 +00:00, jellyfin: gone with password=[redacted]

**Warnings: 3**

- 20 Mar 13:00 +00:00, radarr: Unhealthy after remediation (attempt 1 of 2): 502
- 20 Mar 13:00 +00:00, sonarr: Unhealthy after remediation (attempt 1 of 2): 502
- 20 Mar 12:10 +00:00, disk is full

**Unhealthy services: 2**

- adguard, checked 21 Mar 07:10 +00:00
- sonarr, checked 20 Mar 13:00 +00:00";
    // The hash contains how long the hooks took.
    let (before, audit) = body.split_once("\n\nAudit: 4 decisions, head `").unwrap();
    assert_eq!(before, expected);
    assert_eq!(audit.trim_end_matches('`').len(), 64, "{audit}");
}
