//! Servers that cannot be used, and servers that have lost rows: `policy.on_failure` applies, and one line is printed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::Instant;

use crate::database_server::DatabaseServer;
use crate::sandbox::{Run, Sandbox, call, denied, on_file, passes};

const RESTART: &str = "docker restart jellyfin";

/// A fault: what is done to the database, and to its URL.
struct Fault {
    name: &'static str,
    sql: &'static str,
    url: fn(&str) -> String,
    /// What the hook says of it.
    said: &'static str,
}

const FAULTS: [Fault; 9] = [
    Fault {
        name: "nothing listens",
        sql: "",
        url: |url| url.split('?').next().unwrap().rsplit_once(':').unwrap().0.to_owned() + ":1/ops",
        said: "Connection refused",
    },
    Fault {
        name: "a wrong password",
        sql: "",
        url: |url| replaced(url, "//postgres:", "//postgres:not-"),
        said: "password authentication failed",
    },
    Fault {
        name: "no such database",
        sql: "",
        url: |url| replaced(url, "/sandbox", "/nothing"),
        said: "does not exist",
    },
    Fault {
        name: "a certificate of another authority",
        sql: "",
        url: |url| url.split('?').next().unwrap().to_owned(),
        said: "self-signed, or signed by an authority that is not known here (name the file with the certificate of its authority as `sslrootcert=FILE`",
    },
    Fault {
        name: "a role without rights",
        sql: "DO $$ BEGIN CREATE ROLE stranger LOGIN PASSWORD 'x'; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        url: |url| {
            let (_, server) = url.rsplit_once('@').unwrap();
            format!("postgres://stranger:x@{server}")
        },
        said: "permission denied",
    },
    Fault {
        name: "a database that is read-only",
        sql: "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_read_only = on'; END $$",
        url: str::to_owned,
        said: "read-only transaction",
    },
    Fault {
        name: "a table that is missing",
        sql: "DROP TABLE hook_actions",
        url: str::to_owned,
        said: "hook_actions",
    },
    Fault {
        name: "a column that is missing",
        sql: "ALTER TABLE hook_actions DROP COLUMN counts",
        url: str::to_owned,
        said: "counts",
    },
    Fault {
        name: "tables of another program",
        sql: "DROP TABLE opsctl_migrations",
        url: str::to_owned,
        said: "already exists",
    },
];

fn replaced(url: &str, from: &str, to: &str) -> String {
    assert!(url.contains(from), "{url}");
    url.replacen(from, to, 1)
}

/// A ledger with one restart of jellyfin, which `cooldown.json` does not have.
fn with_a_restart(on_failure: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
    passes(&sandbox.before("u1", RESTART));
    passes(&sandbox.after("u1", RESTART));
    std::fs::remove_file(sandbox.path("cooldown.json")).unwrap();
    sandbox
}

#[test]
fn the_policy_answers_in_one_line_if_the_server_cannot_be_used() {
    for fault in FAULTS {
        for on_failure in ["open", "closed"] {
            let sandbox = with_a_restart(on_failure);
            if !fault.sql.is_empty() {
                sandbox.sql(fault.sql);
            }
            let url = (fault.url)(sandbox.variable("CLAUDEOPS_DB_URL").unwrap().to_str().unwrap());
            let sandbox = sandbox.with("CLAUDEOPS_DB_URL", &url);
            let run = sandbox.before("t1", RESTART);
            let context = format!("{}, {on_failure}: {run:?}", fault.name);
            assert_eq!(run.stderr.lines().count(), 1, "{context}");
            assert!(run.stderr.contains(&format!("policy.on_failure is {on_failure}")), "{context}");
            assert!(run.stderr.contains("cannot be used: ") && run.stderr.contains(fault.said), "{context}");
            assert!(!run.stderr.contains("test's password") && !run.stderr.contains("test%27s"), "{context}");
            if on_failure == "open" {
                passes(&run);
            } else {
                denied(&run);
            }
            let run = sandbox.after("t1", RESTART);
            let context = format!("{}, {on_failure}: {run:?}", fault.name);
            passes(&run);
            assert!((1..=2).contains(&run.stderr.lines().count()), "{context}");
            passes(&sandbox.hook("session-end", &call("t1", RESTART)));
        }
    }
}

/// Another agent that stopped within its change does not block others for ever.
#[test]
fn a_lock_that_is_never_released_fails_after_a_timeout() {
    let sandbox = with_a_restart("closed");
    let (mut holder, lock) = sandbox.locking_program();
    let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = holder.stdin.take().unwrap();
    stdin.write_all(lock.as_bytes()).unwrap();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let started = Instant::now();
    let run = sandbox.before("t1", RESTART);
    let took = started.elapsed();
    assert!(denied(&run).contains("policy.on_failure is closed"), "{run:?}");
    assert!((1..20).contains(&took.as_secs()), "{took:?}");
    drop(stdin);
    holder.wait().unwrap();
    passes(&sandbox.before("t2", RESTART));
}

/// Ways in which a server loses a restart, and what is said of it.
const LOSSES: [(&str, &str, &str); 3] = [
    ("emptied", "TRUNCATE cooldown_actions, hook_actions", "has lost rows: `cooldown_actions` ends at row 0"),
    (
        "last row deleted",
        "DELETE FROM hook_actions WHERE id = 1",
        "has lost rows: `hook_actions` ends at row 0",
    ),
    (
        "replaced",
        // The creation of another ledger within the same second cannot be distinguished by its time.
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public; SELECT pg_sleep(1.1)",
        "was created at",
    ),
];

fn report(run: &Run) -> Vec<&str> {
    run.stderr.lines().filter(|line| line.contains("ledger-mark.json")).collect()
}

#[test]
fn a_server_that_has_lost_rows_is_reported_and_the_policy_applies() {
    for (name, loss, said) in LOSSES {
        let sandbox = with_a_restart("closed");
        sandbox.sql(loss);
        let reason = denied(&sandbox.before("t1", RESTART));
        assert!(reason.contains("policy.on_failure is closed"), "{name}: {reason}");
        assert!(reason.contains(said), "{name}: {reason}");

        let sandbox = with_a_restart("open");
        sandbox.sql(loss);
        let run = sandbox.before("t1", RESTART);
        passes(&run);
        assert_eq!(report(&run).len(), 1, "{name}: {run:?}");
        let run = sandbox.after("t1", RESTART);
        assert_eq!(report(&run).len(), 0, "{name}: reported twice: {run:?}");
        let events = "SELECT count(*) FROM events WHERE message LIKE 'Actions lost: %'";
        assert_eq!(sandbox.sql(events), "1", "{name}");
    }
}

#[test]
fn a_self_signed_certificate_is_refused_with_its_remedy() {
    const UNKNOWN: &str =
        "name the file with the certificate of its authority as `sslrootcert=FILE` in CLAUDEOPS_DB_URL";
    const OF_AUTHORITY: &str =
        "give the server a certificate that this authority has signed; docs/fleet.md shows how";
    let mut server = DatabaseServer::created();
    for (is_authority, remedy) in [(false, UNKNOWN), (true, OF_AUTHORITY)] {
        let own = server.certify_itself(is_authority);
        server.start();
        let url = server.database(&format!("ops{}", usize::from(is_authority)));
        let (place, _) = url.split_once('?').unwrap();
        let agent = |url: &str| on_file::Sandbox::new().with("CLAUDEOPS_DB_URL", url);
        let refused = agent(place).opsctl(&["doctor", "--only", "ledger"], b"");
        assert!(refused.stdout.contains(remedy), "{refused:?}");
        // A certificate of its own is accepted if it is named, unless it is one of an authority.
        let named = agent(&format!("{place}?sslrootcert={}", own.display()));
        let run = named.before("t1", RESTART);
        assert_eq!(run.stderr.contains(remedy), is_authority, "{run:?}");
        server.end(rustix::process::Signal::INT);
    }
}
