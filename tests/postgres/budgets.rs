//! Budgets that several agents share.

use crate::database_server::DatabaseServer;
use crate::sandbox::{Sandbox, denied, passes};

/// An agent on a machine of its own, with this URL.
fn agent(url: &str, name: &str) -> Sandbox {
    Sandbox::new().with("CLAUDEOPS_DB_URL", url).with("CLAUDEOPS_AGENT", name)
}

#[test]
fn two_agents_share_the_budget_of_a_service() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    let (nas, pie) = (agent(&url, "nas"), agent(&url, "pie"));
    for (agent, id) in [(&nas, "t1"), (&pie, "t2")] {
        passes(&agent.before(id, "docker restart jellyfin"));
        passes(&agent.after(id, "docker restart jellyfin"));
    }
    let reason = denied(&nas.before("t3", "docker restart jellyfin"));
    assert!(reason.contains("2/2 restarts in last 4h"), "{reason}");
    let rows =
        "SELECT service, agent FROM cooldown_actions JOIN recorded_actions ON action_id = id ORDER BY id";
    assert_eq!(server.psql("ops", rows), "jellyfin|nas\njellyfin|pie");
    assert!(!nas.path("claudeops.db").exists());
}

#[test]
fn each_agent_has_a_budget_of_its_own_with_per_agent() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    let (nas, pie) = (agent(&url, "nas"), agent(&url, "pie"));
    for agent in [&nas, &pie] {
        agent.write("hosts.yaml", "policy: {restart: {limit: 1, per: agent}}\n");
    }
    for (agent, name) in [(&nas, "nas"), (&pie, "pie")] {
        passes(&agent.before("t1", "docker restart jellyfin"));
        passes(&agent.after("t1", "docker restart jellyfin"));
        let reason = denied(&agent.before("t2", "docker restart jellyfin"));
        assert!(reason.contains("1/1 restarts of this agent in last 4h"), "{name}: {reason}");
    }
    // A row whose agent is unknown counts for each of them.
    passes(&nas.before("t3", "docker restart sonarr"));
    passes(&nas.after("t3", "docker restart sonarr"));
    server.psql("ops", "UPDATE recorded_actions SET agent = NULL");
    denied(&pie.before("t4", "docker restart sonarr"));
}
