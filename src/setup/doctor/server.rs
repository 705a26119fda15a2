//! The check of a ledger on a server.

use super::check::{Outcome, Problem, failed, joined, warning};
use opsctl_ledger::{OLDEST_SERVER, ServerHealth};

/// The largest difference of two clocks that is no problem, in milliseconds.
const CLOCKS: i64 = 1000;

/// How many seconds a standby may be behind.
const BEHIND: f64 = 10.0;

const RIGHTS: &str = "connect agents as a role that does not own the tables, with the rights that `opsctl db grant --role ROLE` prints";

/// The problem of a ledger that a later release has written.
pub fn of_later_release(name: &str, version: u32) -> Problem {
    let what = format!("{name} was written by a later release (version {version})");
    failed(what, "install that release or a later one")
}

/// Checks that opsctl can count on this server, and that it is set up well.
pub fn check(name: &str, health: &ServerHealth) -> Outcome {
    let &ServerHealth { release, version, newest, ref role, .. } = health;
    if release < OLDEST_SERVER {
        let what = format!("{name} is PostgreSQL {release}, and opsctl needs {OLDEST_SERVER} or later");
        return Err(failed(what, "upgrade the server"));
    }
    if let Some(behind) = health.behind {
        let behind = behind.map_or_else(String::new, |seconds| format!(", {seconds:.1} s behind"));
        let what = format!("{name} is a standby{behind}, and accepts no changes");
        return Err(failed(what, "name the primary server in CLAUDEOPS_DB_URL, or promote this one"));
    }
    if version > newest {
        return Err(of_later_release(name, version));
    }
    if version < newest {
        let what = format!("{name} has version {version} of its tables, and this release needs {newest}");
        let remedy = "run `opsctl db grant --role ROLE` as the owner of the database, and what it prints";
        return Err(failed(what, remedy));
    }
    let rights = health.rights.clone().unwrap_or_default();
    if !rights.missing.is_empty() {
        let missing = rights.missing.join(", ");
        return Err(failed(format!("the role {role} lacks rights on {name}: {missing}"), RIGHTS));
    }
    let mut problems: Vec<(String, &str)> = Vec::new();
    if health.clock_ahead.num_milliseconds().abs() > CLOCKS {
        let seconds = health.clock_ahead.as_seconds_f64();
        let what = format!("its clock differs by {seconds:.1} s from that of this machine");
        problems.push((what, "synchronise both clocks"));
    }
    if health.exposes_password {
        let what = "its password crosses the network without TLS".to_owned();
        problems.push((what, "remove `sslmode=disable` from CLAUDEOPS_DB_URL"));
    }
    if !rights.too_much.is_empty() {
        let tables = shortened(&rights.too_much);
        problems.push((format!("the role {role} may change or delete history: {tables}"), RIGHTS));
    }
    for standby in health.standbys.iter().flatten().filter(|standby| standby.behind > BEHIND) {
        let what = format!("the standby {} is {:.0} s behind", standby.name, standby.behind);
        problems.push((what, "check the standby and the network"));
    }
    let facts = facts(name, health);
    if problems.is_empty() {
        return Ok(facts);
    }
    let (what, mut remedies): (Vec<String>, Vec<&str>) = problems.into_iter().unzip();
    remedies.dedup();
    Err(warning(format!("{facts}; {}", what.join("; ")), remedies.join("; ")))
}

fn facts(name: &str, health: &ServerHealth) -> String {
    let standbys = match health.standbys.as_deref() {
        None => "standbys are not visible to this role".to_owned(),
        Some([]) => "no standby".to_owned(),
        Some(standbys) => {
            let each = standbys.iter().map(|it| format!("{} {:.1} s behind", it.name, it.behind));
            format!("standbys: {}", joined(each))
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
    use crate::setup::doctor::{Condition, Finding};
    use opsctl_ledger::Standby;
    use opsctl_ledger::file::rights::Rights;

    type Change = fn(&mut ServerHealth);

    const HEALTHY: &str = "PostgreSQL 15, version 23, round trip 0.4 ms, clock -3 ms, TLSv1.3, no standby";

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

    #[test]
    fn what_prevents_counting_fails_and_what_needs_attention_is_a_warning() {
        fn rights(missing: &[&str], too_much: &[&str]) -> Rights {
            let [missing, too_much] =
                [missing, too_much].map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            Rights { missing, too_much }
        }
        let rows: [(Change, Condition, &str); 12] = [
            (|_| (), Condition::Ok, HEALTHY),
            (|it| it.standbys = None, Condition::Ok, "not visible to this role"),
            // Without a password, nothing is exposed.
            (|it| it.tls = None, Condition::Ok, "no TLS"),
            (|it| it.release = 14, Condition::Failed, "needs 15 or later"),
            (|it| it.behind = Some(Some(2.0)), Condition::Failed, "is a standby, 2.0 s behind"),
            (|it| it.version = 22, Condition::Failed, "version 22 of its tables"),
            (|it| it.version = 99, Condition::Failed, "a later release"),
            (|it| it.rights = Some(rights(&["INSERT on events"], &[])), Condition::Failed, "lacks rights on"),
            (
                |it| it.clock_ahead = TimeDelta::milliseconds(-1500),
                Condition::Warning,
                "its clock differs by -1.5 s",
            ),
            (|it| it.exposes_password = true, Condition::Warning, "without TLS"),
            (
                |it| it.rights = Some(rights(&[], &["a", "b", "c", "d", "e"])),
                Condition::Warning,
                "may change or delete history: a, b, c and 2 more",
            ),
            (
                |it| it.standbys = Some(vec![Standby { name: "pie".into(), behind: 60.0 }]),
                Condition::Warning,
                "pie is 60 s behind",
            ),
        ];
        for (change, condition, part) in rows {
            let mut health = healthy();
            change(&mut health);
            let finding = Finding::of("ledger", check("postgres://nas@db/ops", &health));
            assert_eq!(finding.condition, condition, "{finding}");
            assert!(finding.to_string().contains(part), "{finding}");
        }
    }
}
