//! Copies of a ledger from a file to a server, and back.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::database_server::DatabaseServer;
use crate::sandbox::on_file::{Sandbox, sqlite3};
use crate::sandbox::{Run, call, passes};

/// A file with the history of an agent.
fn with_history() -> Sandbox {
    let agent = Sandbox::new();
    agent.write("hosts.yaml", "policy: {restart: {limit: 5, window: 4h}}\n");
    for (id, service) in [("t1", "jellyfin"), ("t2", "sonarr"), ("t3", "jellyfin")] {
        passes(&agent.before(id, &format!("docker restart {service}")));
        passes(&agent.after(id, &format!("docker restart {service}")));
    }
    assert_eq!(agent.opsctl(&["cooldown", "reset", "sonarr"], b"").code, Some(0));
    passes(&agent.before("t4", "docker restart radarr"));
    agent
}

fn migrate(agent: &Sandbox, url: &str, option: &str, file: &std::path::Path) -> Run {
    let mut command = agent.command(&["db", "migrate", option, file.to_str().unwrap()]);
    let output = command.env("CLAUDEOPS_DB_URL", url).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

const TABLES: [&str; 6] =
    ["events", "cooldown_actions", "hook_actions", "hook_settled", "recorded_actions", "budget_resets"];

/// All rows of the history, in a form that both engines print.
fn rows(query: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for (table, columns) in [
        ("events", "id, level, service, message"),
        ("cooldown_actions", "id, service, action_type, tier, error"),
        ("hook_actions", "id, session_id, tool_use_id, service, kind, verb, state"),
        ("hook_settled", "id, session_id, tool_use_id, actions"),
        ("recorded_actions", "action_id, session_id"),
        ("budget_resets", "id, service, why, last_action"),
        ("hook_decisions", "id, session_id, tool_use_id, verdict, rule, actions, micros"),
    ] {
        writeln!(text, "{table}\n{}", query(&format!("SELECT {columns} FROM {table} ORDER BY 1"))).unwrap();
    }
    text
}

#[test]
fn a_ledger_is_copied_with_its_ids_and_a_second_copy_adds_only_what_is_new() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    let agent = with_history();
    let file = agent.path("claudeops.db");
    let on_server = || rows(|query| server.psql("ops", query));
    let in_file = || rows(|query| agent.sql(query));
    let run = migrate(&agent, &url, "--from", &file);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert!(run.stdout.contains("cooldown_actions: 3 new, 0 changed, 0 unchanged, 0 skipped"), "{run:?}");
    assert!(run.stdout.contains("the tables of the session manager are not copied"), "{run:?}");
    assert_eq!(on_server(), in_file());
    let again = migrate(&agent, &url, "--from", &file);
    assert!(again.stdout.contains("cooldown_actions: 0 new, 0 changed, 3 unchanged"), "{again:?}");
    assert_eq!(on_server(), in_file());
    // The file goes on: a reservation is settled, and there is another action.
    passes(&agent.after("t4", "docker restart radarr"));
    passes(&agent.before("t5", "docker restart radarr"));
    let later = migrate(&agent, &url, "--from", &file);
    assert!(later.stdout.contains("hook_actions: 1 new, 1 changed, 3 unchanged"), "{later:?}");
    assert_eq!(on_server(), in_file());
    // Budgets go on where they were: two restarts of jellyfin, none of sonarr, and new ids follow.
    let there = Sandbox::new().with("CLAUDEOPS_DB_URL", &url);
    let shown = there.opsctl(&["cooldown", "show", "jellyfin"], b"").stdout;
    assert!(shown.starts_with("jellyfin: 2/2 restarts"), "{shown}");
    let shown = there.opsctl(&["cooldown", "show", "sonarr"], b"").stdout;
    assert!(shown.starts_with("sonarr: 0/2 restarts"), "{shown}");
    let whole = |sandbox: &Sandbox| {
        let run = sandbox.opsctl(&["audit", "verify"], b"");
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stdout
    };
    assert_eq!(whole(&there), whole(&agent));
    passes(&there.before("t6", "docker restart lidarr"));
    assert_ne!(whole(&there), whole(&agent));
    passes(&there.after("t6", "docker restart lidarr"));
    assert_eq!(server.psql("ops", "SELECT max(id) FROM cooldown_actions"), "5");
    // The file goes on, too, with other rows of these ids.
    passes(&agent.after("t5", "docker restart radarr"));
    let before = on_server();
    let forked = migrate(&agent, &url, "--from", &file);
    assert_eq!(forked.code, Some(1), "{forked:?}");
    assert!(forked.stderr.contains("has another row"), "{forked:?}");
    assert_eq!(on_server(), before);
}

#[test]
fn rows_that_cannot_be_read_are_counted_and_skipped() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    let agent = with_history();
    agent.sql(
        "INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier) VALUES ('x', 'restart', 'yesterday', 1, 1);
         INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier)
             VALUES ('plex', 'restart', '2026-03-21 14:22:00', 1, 1);
         INSERT INTO events (level, message, created_at) VALUES ('info', x'00ff', '2026-03-21T14:22:00+01:00')",
    );
    let run = migrate(&agent, &url, "--from", &agent.path("claudeops.db"));
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("cooldown_actions: 4 new, 0 changed, 0 unchanged, 1 skipped"), "{run:?}");
    assert!(run.stderr.contains("1 rows of `cooldown_actions` cannot be read and are skipped: 4"), "{run:?}");
    assert!(run.stderr.contains("1 rows of `events` cannot be read"), "{run:?}");
    let time = "SELECT timestamp FROM cooldown_actions WHERE service = 'plex'";
    assert_eq!(server.psql("ops", time), "2026-03-21 14:22:00+00");
}

#[test]
fn a_ledger_comes_back_to_a_file_as_it_was() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    let agent = with_history();
    // More rows than one statement copies.
    agent.sql(
        "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 2000)
         INSERT INTO events (level, message, created_at) SELECT 'info', 'event ' || x, '2026-03-21T14:22:00Z' FROM n",
    );
    let file = agent.path("claudeops.db");
    assert_eq!(migrate(&agent, &url, "--from", &file).code, Some(0));
    let back = agent.path("back.db");
    for _ in 0..2 {
        let run = migrate(&agent, &url, "--to", &back);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    }
    assert_eq!(rows(|query| sqlite3(&back, query)), rows(|query| agent.sql(query)));
    let verified =
        Sandbox::new().with("CLAUDEOPS_DB_PATH", back.to_str().unwrap()).opsctl(&["audit", "verify"], b"");
    assert_eq!(verified.code, Some(0), "{verified:?}");
    for table in TABLES {
        let all = format!("SELECT * FROM {table} ORDER BY 1");
        assert_eq!(sqlite3(&back, &all), agent.sql(&all), "{table}");
    }
}

#[test]
fn a_copy_that_is_interrupted_leaves_nothing() {
    let server = DatabaseServer::new();
    let url = server.database("ops");
    let agent = with_history();
    assert_eq!(Sandbox::new().with("CLAUDEOPS_DB_URL", &url).before("t0", "docker restart x").code, Some(0));
    server.psql("ops", "TRUNCATE hook_actions, hook_decisions, hook_times RESTART IDENTITY");
    agent.sql(
        "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 50000)
         INSERT INTO events (level, message, created_at) SELECT 'info', 'event ' || x, '2026-03-21T14:22:00Z' FROM n",
    );
    let file = agent.path("claudeops.db");
    let mut command = agent.command(&["db", "migrate", "--from", file.to_str().unwrap()]);
    let mut child = command.env("CLAUDEOPS_DB_URL", &url).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(400));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(server.psql("ops", "SELECT count(*) FROM events"), "0");
    assert_eq!(migrate(&agent, &url, "--from", &file).code, Some(0));
    assert_eq!(server.psql("ops", "SELECT count(*) FROM events WHERE message LIKE 'event %'"), "50000");
}

/// A server with 15,000 events, and the file that they come from.
fn with_many_events(server: &DatabaseServer) -> (Sandbox, String) {
    let (agent, url) = (with_history(), server.database("ops"));
    agent.sql(
        "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 15000)
         INSERT INTO events (level, message, created_at) SELECT 'info', 'event ' || x, '2026-03-21T14:22:00Z' FROM n",
    );
    assert_eq!(migrate(&agent, &url, "--from", &agent.path("claudeops.db")).code, Some(0));
    (agent, url)
}

#[test]
fn a_copy_to_a_file_goes_on_where_it_was_killed() {
    let server = DatabaseServer::new();
    let (agent, url) = with_many_events(&server);
    let copy = agent.path("copy.db");
    let mut kills = 0;
    for pause in (50..).step_by(100) {
        let mut command = agent.command(&["db", "migrate", "--to", copy.to_str().unwrap()]);
        let mut child = command.env("CLAUDEOPS_DB_URL", &url).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        // It may have ended.
        let _ = child.kill();
        if child.wait().unwrap().success() {
            break;
        }
        kills += 1;
        assert!(!copy.exists(), "a file that is not complete has its name");
    }
    assert!(kills > 1);
    assert_eq!(rows(|query| sqlite3(&copy, query)), rows(|query| agent.sql(query)));
    assert!(!agent.path("copy.db.partial").exists());
}

#[test]
fn hooks_that_use_a_file_do_not_wait_for_a_copy_into_it() {
    let server = DatabaseServer::new();
    let (agent, url) = with_many_events(&server);
    // The file has less than the server: its events, but for the first ones.
    agent.sql("DELETE FROM recorded_events; DELETE FROM events WHERE id > 100");
    let file = agent.path("claudeops.db");
    let mut command = agent.command(&["db", "migrate", "--to", file.to_str().unwrap()]);
    let mut copying = command.env("CLAUDEOPS_DB_URL", &url).stdout(Stdio::null()).spawn().unwrap();
    let (mut hooks, mut longest) = (0, Duration::ZERO);
    while copying.try_wait().unwrap().is_none() {
        let began = Instant::now();
        // Rows of tables whose ids are not those of the server.
        passes(&agent.hook("user-prompt-submit", &call("t", "")));
        longest = longest.max(began.elapsed());
        hooks += 1;
    }
    eprintln!("the longest of {hooks} hooks beside a copy took {longest:?}");
    assert!(copying.wait().unwrap().success() && hooks > 2, "{hooks}");
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    assert_eq!(agent.sql("SELECT count(*) FROM events WHERE message LIKE 'event %'"), "15000");
}
