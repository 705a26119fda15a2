//! Agents and guards that connect through `PgBouncer` in transaction mode: a transaction gets any of a few connections of the server.

use std::collections::BTreeMap;

use crate::at_once::{PROCESSES, allowed_at_once};
use crate::database_server::DatabaseServer;
use crate::guard_process::Guarded;
use crate::pooler::Pooler;
use crate::sandbox::on_file::Sandbox;
use crate::sandbox::{Sandbox as OnServer, denied, of_any_event, passes};

/// Fewer connections than hooks that act at once.
const CONNECTIONS: usize = 20;

/// Machines with a state folder each, whose hooks connect one after the other.
const AGENTS: usize = 25;

/// Five for each connection: a hook gives up after waiting for one for five seconds, which more of them take on a busy machine.
const HOOKS: usize = 5 * CONNECTIONS;

fn agent(url: &str, name: &str) -> Sandbox {
    Sandbox::new().with("CLAUDEOPS_DB_URL", url).with("CLAUDEOPS_AGENT", name)
}

fn pooled() -> (DatabaseServer, Pooler, String) {
    let server = DatabaseServer::new();
    server.database("ops");
    let pooler = Pooler::of(&server, CONNECTIONS);
    let url = pooler.url(&server, "ops");
    (server, pooler, url)
}

fn at_once(agents: &[Sandbox], service_of: impl Fn(usize) -> String) -> BTreeMap<String, usize> {
    let hooks = (0..HOOKS).map(|n| agents[n % agents.len()].command(&["hook", "pre-tool-use"]));
    allowed_at_once(hooks.collect(), service_of)
}

#[test]
fn budgets_are_exact_for_agents_that_create_the_ledger_and_act_at_once() {
    let (server, _pooler, url) = pooled();
    let agents: Vec<Sandbox> = (0..AGENTS).map(|n| agent(&url, &format!("agent{n}"))).collect();
    // Each of those that find no tables waits for its turn to create them.
    let allowed = at_once(&agents, |_| "jellyfin".to_owned());
    assert_eq!(allowed, BTreeMap::from([("jellyfin".to_owned(), 2)]));
    let allowed = at_once(&agents, |n| format!("service{}", n % 25));
    assert_eq!((allowed.len(), allowed.values().all(|places| *places == 2)), (25, true), "{allowed:?}");
    let rows = "SELECT count(*), count(DISTINCT service) FROM hook_actions";
    assert_eq!(server.psql("ops", rows), "52|26");
    let connections = "SELECT count(*) <= 20 FROM pg_stat_activity WHERE datname = 'ops' AND application_name LIKE 'opsctl%'";
    assert_eq!(server.psql("ops", connections), "t");
}

#[test]
fn hooks_and_verbs_of_a_session_pass_through_a_pooler() {
    let (server, pooler, url) = pooled();
    let nas = agent(&url, "nas").with("CLAUDE_SESSION_MODE", "background");
    nas.write("hosts.yaml", "services: {jellyfin: {}, sonarr: {}}\n");
    let session = of_any_event();
    let quiet = |event: &str| {
        let run = nas.hook(event, &session);
        assert!(
            [Some(0), Some(2)].contains(&run.code) && !run.stderr.contains("cannot be used"),
            "{event}: {run:?}"
        );
    };
    for event in ["session-start", "user-prompt-submit", "subagent-start"] {
        quiet(event);
    }
    for id in ["t1", "t2"] {
        passes(&nas.before(id, "docker restart jellyfin"));
        passes(&nas.after(id, "docker restart jellyfin"));
    }
    assert!(denied(&nas.before("t3", "docker restart jellyfin")).contains("2/2 restarts in last 4h"));
    for event in ["post-tool-batch", "subagent-stop", "notification", "stop", "stop", "session-end"] {
        quiet(event);
    }
    let copy = nas.path("copy.db");
    let copy = copy.to_str().unwrap();
    for verb in [
        &["cooldown", "record", "sonarr"][..],
        &["events"],
        &["status", "--no-hosts"],
        &["audit"],
        &["stats"],
        &["suggest"],
        &["approvals"],
        &["metrics", "--no-hosts"],
        &["sessions"],
        &["report", "--html", "-", "--no-hosts"],
        &["doctor", "--only", "ledger"],
        &["db", "migrate", "--to", copy],
        &["db", "migrate", "--from", copy],
        &["db", "grant", "--role", "nas"],
        &["prune", "--keep", "90d"],
    ] {
        let run = nas.opsctl(verb, b"");
        assert!(run.code == Some(0) && !run.stderr.contains("cannot be used"), "{verb:?}: {run:?}");
    }
    drop(pooler);
    let run = nas.before("t4", "docker restart sonarr");
    assert!(run.stderr.contains("policy.on_failure is open"), "{run:?}");
    assert_eq!(server.psql("ops", "SELECT count(*) FROM hook_actions"), "2");
}

#[test]
fn a_guard_uses_connections_of_a_pooler_that_change_with_each_transaction() {
    let (server, mut pooler, url) = pooled();
    let guarded = Guarded::with(OnServer::new().with("CLAUDEOPS_DB_URL", &url), |agent| agent);
    let hooks = || (0..PROCESSES).map(|_| guarded.agent.command(&["hook", "pre-tool-use"])).collect();
    let allowed = allowed_at_once(hooks(), |n| format!("service{}", n % 50));
    assert_eq!((allowed.len(), allowed.values().all(|places| *places == 2)), (50, true), "{allowed:?}");
    // A guard connects again to a pooler that was restarted.
    pooler.restart();
    let allowed = allowed_at_once(hooks(), |n| format!("other{}", n % 50));
    assert_eq!((allowed.len(), allowed.values().all(|places| *places == 2)), (50, true), "{allowed:?}");
    assert_eq!(server.psql("ops", "SELECT count(*) FROM hook_actions"), "200");
}
