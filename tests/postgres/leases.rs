//! Services that one agent at a time remediates, on a server that several agents share.

use serde_json::json;

use crate::database_server::DatabaseServer;
use crate::sandbox::{Sandbox, denied, passes};

const EXCLUSIVE: &str = "services: {jellyfin: {}, sonarr: {}}\npolicy: {exclusive: 30m}\n";

fn agent(url: &str, name: &str, hosts: &str) -> Sandbox {
    let agent = Sandbox::new().with("CLAUDEOPS_DB_URL", url).with("CLAUDEOPS_AGENT", name);
    agent.write("hosts.yaml", hosts);
    agent
}

#[test]
fn the_agent_that_acts_on_a_service_excludes_others_until_its_session_ends() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    let (nas, pie) = (agent(&url, "nas", EXCLUSIVE), agent(&url, "pie", EXCLUSIVE));
    passes(&nas.before("t1", "docker restart jellyfin"));
    let reason = denied(&pie.before("t1", "docker restart jellyfin"));
    assert!(reason.starts_with("jellyfin is being remediated by agent nas until 2"), "{reason}");
    assert!(denied(&pie.before("t2", "helm upgrade jellyfin ./chart")).contains("agent nas"));
    passes(&pie.before("t3", "docker restart sonarr"));
    passes(&nas.hook("session-end", &json!({"session_id": "sess-abc-123", "reason": "other"})));
    // The session of `pie` has the same id in this test: both leases are released.
    assert_eq!(server.psql("ops", "SELECT count(*) FROM leases"), "0");
    passes(&pie.before("t4", "docker restart jellyfin"));
    assert_eq!(server.psql("ops", "SELECT service, agent FROM leases"), "jellyfin|pie");
}

#[test]
fn of_two_agents_that_act_at_the_same_moment_one_is_denied() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    let hosts = "policy: {exclusive: 30m, restart: {limit: 9}, redeployment: {limit: 9}}\n";
    let (nas, pie) = (agent(&url, "nas", hosts), agent(&url, "pie", hosts));
    // The ledger exists before the race.
    passes(&nas.before("t0", "docker restart other"));
    for round in 0..12 {
        let codes = std::thread::scope(|scope| {
            let restart =
                scope.spawn(|| nas.before(&format!("r{round}"), &format!("docker restart s{round}")));
            let deploy =
                scope.spawn(|| pie.before(&format!("d{round}"), &format!("helm upgrade s{round} ./chart")));
            [restart.join().unwrap().code, deploy.join().unwrap().code]
        });
        let mut sorted = codes;
        sorted.sort_unstable();
        assert_eq!(sorted, [Some(0), Some(2)], "round {round}: {codes:?}");
    }
}
