//! Several agents that share a ledger: their names, budgets per agent, and services that one agent at a time remediates.

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, call, denied, passes};

/// Two agents with one ledger and this `hosts.yaml`.
fn two_agents(hosts: &str) -> [Sandbox; 2] {
    let nas = Sandbox::new().with("CLAUDEOPS_AGENT", "nas");
    let ledger = nas.path("claudeops.db");
    let pie =
        Sandbox::new().with("CLAUDEOPS_AGENT", "pie").with("CLAUDEOPS_DB_PATH", ledger.to_str().unwrap());
    for agent in [&nas, &pie] {
        agent.write("hosts.yaml", hosts);
    }
    [nas, pie]
}

fn before_in(agent: &Sandbox, session: &str, id: &str, command: &str) -> Run {
    let mut call = call(id, command);
    call["session_id"] = json!(session);
    agent.hook("pre-tool-use", &call)
}

fn end(agent: &Sandbox, session: &str) {
    passes(&agent.hook("session-end", &json!({"session_id": session, "reason": "other"})));
}

const JELLYFIN: &str = "docker restart jellyfin";

#[test]
fn an_agent_excludes_others_from_a_service_until_its_session_ends() {
    let [nas, pie] = two_agents("services: {jellyfin: {}, sonarr: {}}\npolicy: {exclusive: 30m}\n");
    passes(&before_in(&nas, "s1", "t1", JELLYFIN));
    let reason = denied(&before_in(&pie, "s2", "t2", JELLYFIN));
    assert!(reason.starts_with("jellyfin is being remediated by agent nas until 2"), "{reason}");
    assert_eq!(nas.sql("SELECT rule, agent FROM hook_decisions WHERE verdict = 'deny'"), "exclusive|pie");
    passes(&before_in(&pie, "s2", "t3", "docker restart sonarr"));
    end(&pie, "s2");
    denied(&before_in(&pie, "s2", "t4", JELLYFIN));
    end(&nas, "s1");
    passes(&before_in(&pie, "s2", "t5", JELLYFIN));
}

#[test]
fn two_sessions_of_one_agent_do_not_exclude_each_other() {
    let [nas, pie] = two_agents("policy: {exclusive: 30m, restart: {limit: 9}}\n");
    for (session, id) in [("s1", "t1"), ("s2", "t2")] {
        passes(&before_in(&nas, session, id, JELLYFIN));
    }
    // The end of one of them leaves the lease to the other.
    end(&nas, "s2");
    denied(&before_in(&pie, "s3", "t3", JELLYFIN));
}

#[test]
fn a_lease_expires_and_is_off_by_default() {
    let [nas, pie] = two_agents("policy: {exclusive: 30m}\n");
    passes(&before_in(&nas, "s1", "t1", JELLYFIN));
    nas.sql("UPDATE leases SET expires_at = '2026-03-21T14:00:00Z'");
    passes(&before_in(&pie, "s2", "t2", JELLYFIN));
    assert_eq!(nas.sql("SELECT agent, session_id FROM leases"), "pie|s2");
    let [nas, pie] = two_agents("policy: {}\n");
    passes(&before_in(&nas, "s1", "t1", JELLYFIN));
    passes(&before_in(&pie, "s2", "t2", JELLYFIN));
    assert_eq!(nas.sql("SELECT count(*) FROM leases"), "0");
}

#[test]
fn an_operator_releases_the_lease_of_an_agent_that_is_gone() {
    let [nas, pie] = two_agents("services: {jellyfin: {}}\npolicy: {exclusive: 30m}\n");
    passes(&before_in(&nas, "s1", "t1", JELLYFIN));
    denied(&before_in(&pie, "s2", "t2", JELLYFIN));
    assert_eq!(pie.opsctl(&["cooldown", "reset", "jellyfin"], b"").code, Some(0));
    passes(&before_in(&pie, "s2", "t3", JELLYFIN));
    assert_eq!(nas.sql("SELECT agent FROM leases"), "pie");
}

#[test]
fn explain_states_the_holder_and_takes_no_lease() {
    let [nas, pie] = two_agents("policy: {exclusive: 30m}\n");
    passes(&before_in(&nas, "s1", "t1", JELLYFIN));
    let run = pie.opsctl(&["explain", "docker restart jellyfin"], b"");
    assert!(run.stdout.contains("remediated by agent nas"), "{run:?}");
    pie.opsctl(&["explain", "docker restart sonarr"], b"");
    assert_eq!(nas.sql("SELECT service FROM leases"), "jellyfin");
}

#[test]
fn each_agent_has_a_budget_of_its_own_with_per_agent() {
    let [nas, pie] = two_agents("policy: {restart: {limit: 1, per: agent}, redeployment: {limit: 1}}\n");
    for (agent, id) in [(&nas, "t1"), (&pie, "t2")] {
        passes(&agent.before(id, JELLYFIN));
        passes(&agent.after(id, JELLYFIN));
        denied(&agent.before("t3", JELLYFIN));
    }
    // The other budget is that of the service.
    passes(&nas.before("t4", "helm upgrade jellyfin ./chart"));
    denied(&pie.before("t5", "helm upgrade jellyfin ./chart"));
}

#[test]
fn rows_of_no_known_agent_count_for_every_agent() {
    let [nas, pie] = two_agents("policy: {restart: {limit: 1, per: agent}}\n");
    passes(&nas.before("t1", JELLYFIN));
    passes(&nas.after("t1", JELLYFIN));
    for rows in ["UPDATE recorded_actions SET agent = NULL", "DELETE FROM recorded_actions"] {
        nas.sql(rows);
        assert!(denied(&pie.before("t2", JELLYFIN)).contains("1/1 restarts of this agent"), "{rows}");
    }
}

/// Sessions of both agents, with an action of each.
fn two_sessions() -> [Sandbox; 2] {
    let agents = two_agents("services: {jellyfin: {}, sonarr: {}}\npolicy: {exclusive: 30m}\n");
    for (agent, session, service) in [(&agents[0], "s1", "jellyfin"), (&agents[1], "s2", "sonarr")] {
        let start = json!({"session_id": session, "cwd": "/app", "source": "startup"});
        assert_eq!(agent.hook("session-start", &start).code, Some(0));
        let mut call = call("t1", &format!("docker restart {service}"));
        call["session_id"] = json!(session);
        passes(&agent.hook("pre-tool-use", &call));
        passes(&agent.hook("post-tool-use", &call));
    }
    agents
}

fn output(agent: &Sandbox, arguments: &[&str]) -> String {
    let run = agent.opsctl(arguments, b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{arguments:?}: {run:?}");
    run.stdout
}

#[test]
fn verbs_show_the_agents_of_a_shared_ledger_and_filter_by_agent() {
    let [nas, _pie] = two_sessions();
    for verb in ["audit", "events", "sessions"] {
        let text = output(&nas, &[verb]);
        assert!(text.contains("AGENT") && text.contains("nas") && text.contains("pie"), "{verb}: {text}");
        let of_pie = output(&nas, &[verb, "--agent", "pie"]);
        assert!(of_pie.contains("pie") && !of_pie.contains("nas"), "{verb}: {of_pie}");
        let json: Value = serde_json::from_str(&output(&nas, &[verb, "--agent", "pie", "--json"])).unwrap();
        let rows = json.as_object().unwrap().values().next().unwrap().as_array().unwrap();
        assert!(!rows.is_empty() && rows.iter().all(|row| row["agent"] == "pie"), "{verb}: {rows:?}");
        let of_none = output(&nas, &[verb, "--agent", "other"]);
        assert!(
            of_none.starts_with("no ")
                && of_none.ends_with(" of agent `other`; agents with sessions: nas, pie\n"),
            "{verb}: {of_none}"
        );
    }
}

#[test]
fn the_status_shows_agents_and_leases() {
    let [nas, _pie] = two_sessions();
    let text = output(&nas, &["status", "--no-hosts"]);
    assert!(
        text.contains("services that one agent is remediating:\n  jellyfin: agent nas, until 2"),
        "{text}"
    );
    assert!(text.contains("| nas | warning | jellyfin |"), "{text}");
    let of_pie = output(&nas, &["status", "--no-hosts", "--agent", "pie"]);
    assert!(of_pie.contains("| pie | ") && !of_pie.contains("| nas | "), "{of_pie}");
    let json: Value = serde_json::from_str(&output(&nas, &["status", "--no-hosts", "--json"])).unwrap();
    let leases: Vec<String> = json["leases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {} {}", it["service"], it["agent"], it["session"]).replace('"', ""))
        .collect();
    assert_eq!(leases, ["jellyfin nas s1", "sonarr pie s2"]);
}

#[test]
fn one_agent_is_not_named() {
    let nas = Sandbox::new().with("CLAUDEOPS_AGENT", "the-nas");
    let start = json!({"session_id": "sess-abc-123", "cwd": "/app", "source": "startup"});
    assert_eq!(nas.hook("session-start", &start).code, Some(0));
    passes(&nas.before("t1", JELLYFIN));
    passes(&nas.after("t1", JELLYFIN));
    for verb in [&["audit"][..], &["events"], &["sessions"], &["status", "--no-hosts"]] {
        let text = output(&nas, verb);
        assert!(!text.contains("the-nas") && !text.contains("AGENT "), "{verb:?}: {text}");
    }
    let json: Value = serde_json::from_str(&output(&nas, &["audit", "--json"])).unwrap();
    assert_eq!(json["decisions"][0]["agent"], "the-nas");
}

#[test]
fn the_report_names_agents_and_is_of_one_of_them() {
    let [nas, _pie] = two_sessions();
    let page =
        |arguments: &[&str]| output(&nas, &[&["report", "--no-hosts", "--html", "-"], arguments].concat());
    let all = page(&[]);
    for seen in
        ["restart (agent nas)", "restart (agent pie)", "<small>agent nas</small>", "by agent nas, until"]
    {
        assert!(all.contains(seen), "{seen}");
    }
    let of_pie = page(&["--agent", "pie"]);
    assert!(of_pie.contains("restart (agent pie)") && !of_pie.contains("restart (agent nas)"));
    assert!(of_pie.contains("\u{b7} agent pie</p>"));
}

#[test]
fn budgets_per_agent_are_shown_for_each_agent() {
    let [nas, pie] = two_agents("services: {jellyfin: {}}\npolicy: {restart: {limit: 2, per: agent}}\n");
    for (agent, session) in [(&nas, "s1"), (&pie, "s2")] {
        let start = json!({"session_id": session, "cwd": "/app", "source": "startup"});
        assert_eq!(agent.hook("session-start", &start).code, Some(0));
    }
    passes(&nas.before("t1", JELLYFIN));
    passes(&nas.after("t1", JELLYFIN));
    // An operator, who has another name than the agents.
    let operator = Sandbox::new()
        .with("CLAUDEOPS_AGENT", "desk")
        .with("CLAUDEOPS_DB_PATH", nas.path("claudeops.db").to_str().unwrap());
    operator.write("hosts.yaml", "services: {jellyfin: {}}\npolicy: {restart: {limit: 2, per: agent}}\n");
    for verb in [&["status", "--no-hosts"][..], &["cooldown"]] {
        let text = output(&operator, verb);
        assert!(text.contains("jellyfin (agent nas)") && !text.contains("agent pie"), "{verb:?}: {text}");
    }
    let of_pie = output(&operator, &["status", "--no-hosts", "--agent", "pie"]);
    assert!(of_pie.contains("jellyfin: 0/2 restarts"), "{of_pie}");
}

#[test]
fn an_agent_keeps_its_name_in_a_container_with_another_host_name() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_CLIENT", "/bin/true");
    sandbox.opsctl(&["session", "--tier", "1"], b"");
    let first = sandbox.sql("SELECT agent FROM client_runs");
    assert_eq!(sandbox.read("agent-name").trim(), first);
    sandbox.write("agent-name", "nas\n");
    sandbox.opsctl(&["session", "--tier", "1"], b"");
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    assert_eq!(sandbox.sql("SELECT agent FROM client_runs WHERE id = 2"), "nas");
    assert_eq!(sandbox.sql("SELECT agent FROM hook_actions"), "nas");
    let stated = sandbox.with("CLAUDEOPS_AGENT", "pi");
    passes(&stated.before("t2", "docker restart jellyfin"));
    assert_eq!(stated.sql("SELECT agent FROM hook_actions WHERE tool_use_id = 't2'"), "pi");
}

#[test]
fn a_service_that_is_named_on_another_host_counts_against_the_budget_of_that_host() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "hosts.yaml",
        "hosts:\n  nas: {address: 192.0.2.1, restart: {limit: 2}}\n  ie01: {address: 192.0.2.2}\n\
         services: {gitea: {host: nas}, jellyfin: {host: ie01}}\n",
    );
    for (id, service) in [("t1", "jellyfin"), ("t2", "gitea")] {
        passes(&sandbox.before(id, &format!("ssh nas docker restart {service}")));
    }
    assert_eq!(
        sandbox.sql("SELECT group_concat(service, ' ') FROM (SELECT service FROM hook_actions ORDER BY id)"),
        "jellyfin@nas gitea"
    );
    let reason = denied(&sandbox.before("t3", "ssh nas docker restart gitea"));
    assert!(reason.contains("for the services of host nas together: 2/2 restarts"), "{reason}");
    passes(&sandbox.before("t4", "ssh ie01 docker restart jellyfin"));
}
