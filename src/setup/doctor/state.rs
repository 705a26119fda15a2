//! Checks of the state folder and the ledger.

use std::os::unix::fs::MetadataExt as _;

use chrono::Utc;
use rustix::fs::{Access, access};
use serde_json::Value;

use super::examined::Examined;
use super::finding::{Condition, Finding};
use crate::machine::guard_link;
use crate::machine::link::address::Address;
use crate::machine::link::caller::LinkError;
use crate::machine::link::message::Call;
use opsctl_ledger::{FileHealth, Health, Ledger, OLDEST_SERVER, ServerHealth};
use opsctl_policy::model::display::relative_time::timestamp;

/// Checks that the state folder exists, is writable, and is not world-writable.
pub fn folder(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "state folder";
    let folder = &examined.environment.state_dir;
    let name = folder.display();
    let metadata = match folder.metadata() {
        Ok(metadata) if metadata.is_dir() => metadata,
        Ok(_) => {
            return Finding::failed(
                CHECK,
                format!("{name} is not a folder"),
                "name another with CLAUDEOPS_STATE_DIR",
            );
        }
        Err(error) => {
            let remedy = "create it, or name another with CLAUDEOPS_STATE_DIR";
            return Finding::failed(CHECK, format!("{name}: {error}"), remedy);
        }
    };
    if access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let remedy = "make this user its owner, or name another with CLAUDEOPS_STATE_DIR";
        return Finding::failed(CHECK, format!("{name} is not writable by this user"), remedy);
    }
    if metadata.mode() & 0o002 != 0 {
        let remedy = format!("run `chmod o-w {name}`");
        return Finding::warning(CHECK, format!("{name} is world-writable"), remedy);
    }
    Finding::ok(CHECK, name.to_string())
}

const LEDGER: &str = "ledger";

/// Checks that the ledger is intact, complete, in WAL mode, and not of a later release.
pub fn ledger(examined: &Examined<'_>) -> Finding {
    if let Some(guard) = &examined.environment.guard {
        return of_guard(guard, examined);
    }
    let finding = ledger_file(examined);
    if finding.condition == Condition::Failed { finding } else { lost_rows(examined).unwrap_or(finding) }
}

fn of_guard(guard: &Address, examined: &Examined<'_>) -> Finding {
    const REMEDY: &str = "run `opsctl doctor` on the side of the guard";
    match guard_link::call(guard, Call::Ping, &[], examined.environment, guard_link::QUICK, &mut |_| {
        Value::Null
    }) {
        Ok(_) => Finding::ok(LEDGER, format!("the guard can read and write it; for more, {REMEDY}")),
        Err(LinkError::Failed(why)) => Finding::failed(LEDGER, format!("of the guard: {why}"), REMEDY),
        Err(why) => Finding::warning(LEDGER, format!("not known: {why}"), REMEDY),
    }
}

/// The finding if the ledger has lost rows, and while budgets may miss rows that were lost.
fn lost_rows(examined: &Examined<'_>) -> Option<Finding> {
    let (path, state_dir) = (&examined.environment.ledger, &examined.environment.state_dir);
    // An error is reported by the check of the file.
    if let Some(loss) = Ledger::loss_at(path, state_dir).ok().flatten() {
        let remedy =
            "budgets count lost actions only if cooldown.json holds them; find out what changed the ledger";
        return Some(Finding::failed(LEDGER, loss.to_string(), remedy));
    }
    let policy = &examined.policy.installation.policy;
    let lost_at = Ledger::lost_at(path, state_dir)?;
    let until = lost_at + policy.restart.window.delta().max(policy.redeployment.window.delta());
    let [lost_at, complete] = [lost_at, until].map(timestamp);
    (Utc::now() < until).then(|| {
        let what = format!("{path} had lost rows at {lost_at}; budgets may miss actions until {complete}");
        Finding::warning(
            LEDGER,
            what,
            "find out what changed the ledger; `opsctl events` shows what was missing",
        )
    })
}

fn ledger_file(examined: &Examined<'_>) -> Finding {
    let location = &examined.environment.ledger;
    match Ledger::health(location, !examined.quick) {
        Ok(Some(Health::File(health))) => of_file(&location.to_string(), health),
        Ok(Some(Health::Server(health))) => of_server(&location.to_string(), &health),
        Ok(None) => Finding::ok(LEDGER, format!("no ledger at {location} yet; the first action creates it")),
        Err(error) => Finding::failed(LEDGER, error.to_string(), "budgets cannot be enforced without it"),
    }
}

fn of_file(name: &str, health: FileHealth) -> Finding {
    if let Some(damage) = health.damage {
        let remedy =
            "stop the agent, keep a copy, and restore it from a backup or with `sqlite3 FILE .recover`";
        return Finding::failed(LEDGER, format!("{name} is damaged: {damage}"), remedy);
    }
    if health.version > health.newest {
        return of_later_release(name, health.version);
    }
    if health.journal != "wal" {
        let what = format!("{name} is in journal mode `{}`: hooks block each other", health.journal);
        return Finding::warning(LEDGER, what, "run `sqlite3 FILE 'PRAGMA journal_mode=WAL'` on it");
    }
    Finding::ok(LEDGER, format!("{name}, version {}", health.version))
}

fn of_later_release(name: &str, version: u32) -> Finding {
    Finding::failed(
        LEDGER,
        format!("{name} was written by a later release (version {version})"),
        "install that release or a later one",
    )
}

/// The largest difference of two clocks that is no problem, in milliseconds.
const CLOCKS: i64 = 1000;

/// How many seconds a standby may be behind.
const BEHIND: f64 = 10.0;

fn of_server(name: &str, health: &ServerHealth) -> Finding {
    const RIGHTS: &str = "connect agents as a role that does not own the tables, with the rights that `opsctl db grant --role ROLE` prints";
    if health.release < OLDEST_SERVER {
        let what =
            format!("{name} is PostgreSQL {}, and opsctl needs {OLDEST_SERVER} or later", health.release);
        return Finding::failed(LEDGER, what, "upgrade the server");
    }
    if let Some(behind) = health.behind {
        let behind = behind.map_or_else(String::new, |seconds| format!(", {seconds:.1} s behind"));
        let what = format!("{name} is a standby{behind}, and accepts no changes");
        return Finding::failed(
            LEDGER,
            what,
            "name the primary server in CLAUDEOPS_DB_URL, or promote this one",
        );
    }
    if health.version > health.newest {
        return of_later_release(name, health.version);
    }
    if health.version < health.newest {
        let what = format!(
            "{name} has version {} of its tables, and this release needs {}",
            health.version, health.newest
        );
        return Finding::failed(
            LEDGER,
            what,
            "run `opsctl db grant --role ROLE` as the owner of the database, and what it prints",
        );
    }
    let rights = health.rights.clone().unwrap_or_default();
    if !rights.missing.is_empty() {
        let what = format!("the role {} lacks rights on {name}: {}", health.role, rights.missing.join(", "));
        return Finding::failed(LEDGER, what, RIGHTS);
    }
    let ahead = health.clock_ahead.num_milliseconds();
    let mut problems: Vec<(String, &str)> = Vec::new();
    if ahead.abs() > CLOCKS {
        let what = format!(
            "its clock differs by {:.1} s from that of this machine",
            health.clock_ahead.as_seconds_f64()
        );
        problems.push((what, "synchronise both clocks"));
    }
    if health.exposes_password {
        let what = "its password crosses the network without TLS".to_owned();
        problems.push((what, "remove `sslmode=disable` from CLAUDEOPS_DB_URL"));
    }
    if !rights.too_much.is_empty() {
        let what =
            format!("the role {} may change or delete history: {}", health.role, shortened(&rights.too_much));
        problems.push((what, RIGHTS));
    }
    for standby in health.standbys.iter().flatten().filter(|standby| standby.behind > BEHIND) {
        let what = format!("the standby {} is {:.0} s behind", standby.name, standby.behind);
        problems.push((what, "check the standby and the network"));
    }
    let facts = facts(name, health);
    if problems.is_empty() {
        return Finding::ok(LEDGER, facts);
    }
    let (what, mut remedies): (Vec<String>, Vec<&str>) = problems.into_iter().unzip();
    remedies.dedup();
    Finding::warning(LEDGER, format!("{facts}; {}", what.join("; ")), remedies.join("; "))
}

fn facts(name: &str, health: &ServerHealth) -> String {
    let standbys = match health.standbys.as_deref() {
        None => "standbys are not visible to this role".to_owned(),
        Some([]) => "no standby".to_owned(),
        Some(standbys) => {
            let each =
                standbys.iter().map(|standby| format!("{} {:.1} s behind", standby.name, standby.behind));
            format!("standbys: {}", each.collect::<Vec<_>>().join(", "))
        }
    };
    format!(
        "{name}, PostgreSQL {}, version {}, round trip {:.1} ms, clock {:+} ms, {}, {standbys}",
        health.release,
        health.version,
        health.round_trip.as_secs_f64() * 1000.0,
        health.clock_ahead.num_milliseconds(),
        health.tls.as_deref().unwrap_or("no TLS"),
    )
}

/// The first names of a list.
fn shortened(names: &[String]) -> String {
    match names {
        [first, second, third, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second}, {third} and {} more tables", rest.len())
        }
        names => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::TimeDelta;

    use super::*;
    use opsctl_ledger::Standby;
    use opsctl_ledger::file::rights::Rights;

    fn healthy() -> ServerHealth {
        ServerHealth {
            release: 15,
            version: 23,
            newest: 23,
            round_trip: Duration::from_micros(400),
            clock_ahead: TimeDelta::milliseconds(-3),
            tls: Some("TLSv1.3".into()),
            exposes_password: false,
            role: "nas".into(),
            rights: Some(Rights::default()),
            behind: None,
            standbys: Some(vec![]),
        }
    }

    fn found(health: &ServerHealth) -> (Condition, String) {
        let finding = of_server("postgres://nas@db/ops", health);
        (finding.condition, finding.to_string())
    }

    #[test]
    fn a_healthy_server_is_described() {
        let (condition, text) = found(&healthy());
        assert_eq!(condition, Condition::Ok);
        assert!(
            text.contains("PostgreSQL 15, version 23, round trip 0.4 ms, clock -3 ms, TLSv1.3, no standby"),
            "{text}"
        );
        let (condition, text) = found(&ServerHealth { standbys: None, ..healthy() });
        assert_eq!(condition, Condition::Ok);
        assert!(text.contains("not visible to this role"), "{text}");
    }

    #[test]
    fn what_prevents_counting_is_a_failure() {
        let rights = Rights { missing: vec!["INSERT on events".into()], too_much: vec![] };
        for (health, part) in [
            (ServerHealth { release: 14, ..healthy() }, "needs 15 or later"),
            (ServerHealth { behind: Some(Some(2.0)), ..healthy() }, "is a standby, 2.0 s behind"),
            (ServerHealth { version: 22, ..healthy() }, "version 22 of its tables"),
            (ServerHealth { version: 99, ..healthy() }, "a later release"),
            (ServerHealth { rights: Some(rights), ..healthy() }, "lacks rights on"),
        ] {
            let (condition, text) = found(&health);
            assert_eq!(condition, Condition::Failed, "{text}");
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn what_needs_attention_is_a_warning() {
        let rights =
            Rights { missing: vec![], too_much: ["a", "b", "c", "d", "e"].map(str::to_owned).into() };
        let late = Standby { name: "pie".into(), behind: 60.0 };
        for (health, part) in [
            (
                ServerHealth { clock_ahead: TimeDelta::milliseconds(-1500), ..healthy() },
                "its clock differs by -1.5 s",
            ),
            (ServerHealth { tls: None, exposes_password: true, ..healthy() }, "without TLS"),
            (
                ServerHealth { rights: Some(rights), ..healthy() },
                "may change or delete history: a, b, c and 2 more",
            ),
            (ServerHealth { standbys: Some(vec![late]), ..healthy() }, "pie is 60 s behind"),
        ] {
            let (condition, text) = found(&health);
            assert_eq!(condition, Condition::Warning, "{text}");
            assert!(text.contains(part), "{text}");
        }
        let (condition, _) = found(&ServerHealth { tls: None, ..healthy() });
        assert_eq!(condition, Condition::Ok, "without a password, nothing is exposed");
    }
}
