//! Health checks of services. Two that opsctl has made clear the counters of a service; what an agent states clears nothing.

use chrono::{DateTime, TimeDelta, Utc};

use crate::engine::{Result, Row, insert, params};
use crate::file::database::{Change, Ledger};
use crate::time;

/// The shortest time between two checks that clear counters: the ids of sessions are stated by the agent's side, time is not.
pub const APART: TimeDelta = TimeDelta::minutes(30);

/// Who has made a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checker {
    /// opsctl: it has looked at the service.
    Opsctl,
    /// An agent or an operator, who states a result.
    Stated,
}

/// The state of a service after a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streak {
    /// The number of consecutive healthy checks. Those of one session count once.
    Of(u32),
    /// The counters are cleared, and the streak starts at 0.
    Cleared,
}

/// The last health check of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCheck {
    /// The service.
    pub service: String,
    /// Whether it was healthy.
    pub healthy: bool,
    /// When it was checked.
    pub at: DateTime<Utc>,
}

/// An earlier healthy check.
struct Earlier {
    session: Option<String>,
    is_verified: bool,
    at: Option<DateTime<Utc>>,
}

/// Goes from service to service in the index of checks.
const LAST_CHECKS: &str = "WITH RECURSIVE known(name) AS (SELECT min(service) FROM service_checks UNION ALL
         SELECT (SELECT min(service) FROM service_checks WHERE service > known.name) FROM known WHERE known.name IS NOT NULL)
     SELECT service, healthy, at FROM known
         JOIN service_checks ON id = (SELECT max(id) FROM service_checks AS latest WHERE latest.service = known.name)";

/// The checks of a service since its last reset, the latest first.
const SINCE_RESET: &str =
    "SELECT healthy, session_id, check_id IS NOT NULL, at FROM service_checks LEFT JOIN verified_checks ON check_id = id
     WHERE service = ?1 AND id > (SELECT coalesce(max(last_check), 0) FROM budget_resets WHERE service = ?1)
     ORDER BY id DESC LIMIT 200";

const IS_KNOWN: &str = "SELECT 1 FROM hook_sessions WHERE session_id = ?1 OR client_session_id = ?1 LIMIT 1";

/// A service on which an action was reserved or reported after a time.
const ACTED_SINCE: &str = "SELECT 1 FROM hook_actions WHERE service = ?1 AND state <> 'released'
         AND (reserved_at > ?2 OR settled_at > ?2) LIMIT 1";

impl Ledger {
    /// The last recorded health check of each service.
    pub fn last_checks(&self) -> Result<Vec<LastCheck>> {
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.time(2)?));
        let rows: Vec<(String, bool, Option<DateTime<Utc>>)> = self.query(LAST_CHECKS, &[], read)?;
        let checks = rows
            .into_iter()
            .filter_map(|(service, healthy, at)| Some(LastCheck { service, healthy, at: at? }));
        Ok(checks.collect())
    }
}

impl Change<'_> {
    /// Records a check of a service, which was made in a session. Its counters are cleared if opsctl has made two healthy checks of it, in two sessions that
    /// the ledger knows, at least [`APART`], without an unhealthy check or an action in between.
    pub fn note_check(
        &self,
        service: &str,
        healthy: bool,
        by: Checker,
        session: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Streak> {
        let earlier = if healthy { self.healthy_before(service)? } else { vec![] };
        let id: i64 = insert!(self.add into service_checks {
            service: service, healthy: healthy, at: time::write(now), session_id: session, agent: self.agent()
        })?;
        if healthy
            && by == Checker::Opsctl
            && self.may_add_to("verified_checks")?
            && self.is_known(session)?
        {
            insert!(self.run into verified_checks { check_id: id })?;
            if self.confirms(service, session, &earlier, now)? {
                self.clear(service, "healthy", now)?;
                self.set_streak(service, 0, now)?;
                return Ok(Streak::Cleared);
            }
        }
        let streak = if healthy { length(session, &earlier) } else { 0 };
        self.set_streak(service, streak, now)?;
        Ok(Streak::Of(streak))
    }

    /// The healthy checks of a service since the last unhealthy one and the last reset, the latest first.
    fn healthy_before(&self, service: &str) -> Result<Vec<Earlier>> {
        let checks = self.query(SINCE_RESET, params![service], |row| {
            let earlier = Earlier { session: row.get(1)?, is_verified: row.get(2)?, at: row.time(3)? };
            Ok((row.get::<bool>(0)?, earlier))
        })?;
        Ok(checks.into_iter().take_while(|(healthy, _)| *healthy).map(|(_, earlier)| earlier).collect())
    }

    /// Whether a check that opsctl has made now is the second one that clears the counters.
    fn confirms(
        &self,
        service: &str,
        session: Option<&str>,
        earlier: &[Earlier],
        now: DateTime<Utc>,
    ) -> Result<bool> {
        let is_first = |check: &&Earlier| {
            check.is_verified
                && check.session.as_deref() != session
                && check.at.is_some_and(|at| now - at >= APART)
        };
        // The latest one: the fewest actions have run since.
        let Some(first) = earlier.iter().find(is_first).and_then(|check| check.at) else { return Ok(false) };
        Ok(!self.exists(ACTED_SINCE, params![service, time::write(first)])?)
    }

    fn is_known(&self, session: Option<&str>) -> Result<bool> {
        let Some(session) = session else { return Ok(false) };
        self.exists(IS_KNOWN, params![session])
    }

    /// Stores the number of consecutive healthy checks where the session manager and dashboards read it.
    pub(crate) fn set_streak(&self, service: &str, streak: u32, now: DateTime<Utc>) -> Result<()> {
        insert!(self.run into service_health_streak {
            service: service, consecutive_healthy: streak, last_checked_at: time::write(now)
        }, "ON CONFLICT (service) DO UPDATE SET consecutive_healthy = excluded.consecutive_healthy, last_checked_at = excluded.last_checked_at")
    }
}

/// The number of consecutive healthy checks, this one of `session` included. Consecutive checks of one session count once.
fn length(session: Option<&str>, earlier: &[Earlier]) -> u32 {
    let mut sessions: Vec<Option<&str>> =
        std::iter::once(session).chain(earlier.iter().map(|check| check.session.as_deref())).collect();
    sessions.dedup_by(|one, other| one.is_some() && one == other);
    u32::try_from(sessions.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::fixture;
    use crate::sessions::Who;

    #[test]
    fn only_two_checks_of_opsctl_that_are_apart_clear_the_counters() {
        type Step = (String, Option<String>, i64, i64);
        let began: DateTime<Utc> = "2026-03-21T14:00:00Z".parse().unwrap();
        let cases: BTreeMap<String, Vec<Step>> = serde_saphyr::from_str(include_str!("checks.yaml")).unwrap();
        for (case, steps) in cases {
            let (_folder, mut ledger) = fixture::ledger();
            for (what, session, minute, expected) in steps {
                let now = began + TimeDelta::minutes(minute);
                let change = ledger.change().unwrap();
                for session in ["a", "b", "c"] {
                    change.meet(&Who { session, ..Who::default() }, began).unwrap();
                }
                if what == "action" {
                    let sql = "INSERT INTO hook_actions (service, kind, verb, counts, state, reserved_at)
                         VALUES ('jellyfin', 'restart', 'restart', TRUE, 'done', ?1)";
                    change.run(sql, params![time::write(now)]).unwrap();
                } else {
                    let by = if what.starts_with("stated") { Checker::Stated } else { Checker::Opsctl };
                    let (healthy, session) = (!what.ends_with("unhealthy"), session.as_deref());
                    let streak = match change.note_check("jellyfin", healthy, by, session, now).unwrap() {
                        Streak::Of(streak) => streak.into(),
                        Streak::Cleared => -1,
                    };
                    assert_eq!(streak, expected, "{case}, minute {minute}");
                }
                change.commit().unwrap();
            }
        }
    }
}
