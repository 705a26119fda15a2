//! The usage of budgets.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::leases;
use crate::engine::{Connection, Result, Row, ToSql, params};
use crate::file::database::{Change, Ledger};
use crate::file::migrate;
use crate::time;
use opsctl_policy::budgets::budget::{SAME_ACTION, Usage};
use opsctl_policy::budgets::unidentified::names_key;
use opsctl_policy::decide::{BudgetKey, Snapshot};
use opsctl_policy::model::rights::policy::{Per, Policy, Unlisted};

/// The latest ones, at most `?5`. The last column: whether opsctl wrote the row. Rows of the agent `?4`, and of unknown ones; `NULL`:
/// of all agents.
pub(crate) const ACTIONS: &str =
    "SELECT timestamp, id, action_id IS NOT NULL FROM cooldown_actions LEFT JOIN recorded_actions ON action_id = id
     WHERE service = ?1 AND action_type = ?2 AND timestamp >= ?3 AND (recorded_actions.agent = ?4 OR recorded_actions.agent IS NULL OR ?4 IS NULL)
     ORDER BY timestamp DESC LIMIT ?5";

/// This many more actions of a service than twice the highest limit are read: some may not count, because they were cleared or are
/// recorded twice.
const MORE_THAN_LIMITS: i64 = 100;

/// The latest starts that closed a cycle, which have no row in `cooldown_actions`.
pub(crate) const UNCOUNTED: &str = "SELECT settled_at FROM (
         SELECT settled_at, counts, agent FROM hook_actions WHERE service = ?1 AND kind = ?2 ORDER BY id DESC LIMIT 100) AS latest
     WHERE NOT counts AND settled_at IS NOT NULL AND (agent = ?3 OR agent IS NULL OR ?3 IS NULL)";

pub(crate) const OPEN_RESERVATIONS: &str = "SELECT reserved_at, id FROM hook_actions
     WHERE service = ?1 AND kind = ?2 AND state = 'reserved' AND reserved_at >= ?3 AND counts
         AND (agent = ?4 OR agent IS NULL OR ?4 IS NULL)";

/// The last verb on a service that begins or ends a stop.
///
/// A stop counts in any state: even one that failed or was never settled may have taken the service down. Any other
/// verb counts only if it succeeded or may be running: after a failed start the service is still down. It may be of any agent,
/// also where each has a budget of its own.
pub(crate) const LAST_VERB: &str = "SELECT verb FROM hook_actions
     WHERE service = ?1 AND kind = ?2
         AND (verb = 'stop' OR state = 'done' OR (state = 'reserved' AND reserved_at >= ?3))
     ORDER BY id DESC LIMIT 1";

pub(crate) const LAST_RESET: &str =
    "SELECT at, last_action, last_reservation FROM budget_resets WHERE service = ?1 ORDER BY id DESC LIMIT 1";

/// Every service and kind with a recent action. Skips from one service to the next in an index that begins with the
/// service, because there are few services and many rows. With `OFFSET`, PostgreSQL does not turn this into a join that reads them
/// all.
pub(crate) const KEYS_BY_SKIPPING: &str = "WITH RECURSIVE
         known(service) AS (
             SELECT min(service) FROM cooldown_actions
             UNION ALL
             SELECT (SELECT min(service) FROM cooldown_actions WHERE service > known.service)
             FROM known WHERE known.service IS NOT NULL),
         kinds(kind) AS (VALUES ('restart'), ('redeployment'))
     SELECT service, kind FROM known, kinds WHERE EXISTS (
         SELECT 1 FROM cooldown_actions
         WHERE service = known.service AND action_type = kinds.kind AND timestamp >= ?1 LIMIT 1 OFFSET 0)";

/// Every service and kind with a recent action, for another program's table without an index by service.
const KEYS_BY_READING: &str =
    "SELECT DISTINCT service, action_type FROM cooldown_actions WHERE timestamp >= ?1";

pub(crate) const KEYS_WITH_RESERVATIONS: &str =
    "SELECT DISTINCT service, kind FROM hook_actions WHERE state = 'reserved' AND reserved_at >= ?1";

impl Change<'_> {
    /// The usage of these budgets within the longest window before `now`.
    pub fn usage(&self, keys: &[BudgetKey], policy: &Policy, now: DateTime<Utc>) -> Result<Snapshot> {
        Reader::new(&self.transaction, policy, &self.agent(), now).usage_with_hosts(keys)
    }
}

impl Ledger {
    /// The usage of these budgets within the longest window before `now`.
    pub fn usage(&self, keys: &[BudgetKey], policy: &Policy, now: DateTime<Utc>) -> Result<Snapshot> {
        Reader::new(&*self.reading()?, policy, &self.agent(), now).usage_with_hosts(keys)
    }

    /// The usage of all budgets within the longest window before `now`, as they are for `agent` (`None`: the agent that reads
    /// the ledger); `None` if the ledger has no action.
    pub fn usage_of_all(
        &self,
        policy: &Policy,
        agent: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Option<Snapshot>> {
        let agent = agent.map_or_else(|| self.agent(), str::to_owned);
        // One transaction: otherwise each of hundreds of queries would take a lock.
        let view = self.reading()?;
        let reader = Reader::new(&view, policy, &agent, now);
        if reader.is_empty()? {
            return Ok(None);
        }
        reader.usage_of(&reader.keys()?).map(Some)
    }
}

/// Reads usage.
struct Reader<'a> {
    connection: &'a Connection,
    /// The start of the longest window.
    since: DateTime<Utc>,
    now: DateTime<Utc>,
    policy: &'a Policy,
    /// Whose usage it is.
    agent: &'a str,
}

impl<'a> Reader<'a> {
    fn new(connection: &'a Connection, policy: &'a Policy, agent: &'a str, now: DateTime<Utc>) -> Self {
        Self { connection, since: now - policy.longest_window().delta(), now, policy, agent }
    }

    /// The agent whose actions count; `None`: those of all agents count.
    fn only(&self, key: &BudgetKey) -> Option<&'a str> {
        let per =
            if key.kind == "redeployment" { self.policy.redeployment.per } else { self.policy.restart.per };
        (per == Per::Agent).then_some(self.agent)
    }

    fn is_empty(&self) -> Result<bool> {
        let sql = "SELECT 1 FROM cooldown_actions UNION ALL SELECT 1 FROM hook_actions LIMIT 1";
        Ok(!self.connection.exists(sql, &[])?)
    }

    /// The budgets with usage in the longest window.
    fn keys(&self) -> Result<Vec<BudgetKey>> {
        let indexed = migrate::has_index_on(self.connection, "cooldown_actions", "service")?;
        let actions = if indexed { KEYS_BY_SKIPPING } else { KEYS_BY_READING };
        let mut keys = BTreeSet::new();
        for sql in [actions, KEYS_WITH_RESERVATIONS] {
            // Columns of other writers may have any type; a value that is not text is not a service.
            let found = self.connection.query(sql, params![time::floor(self.since)], |row| {
                let kind = row.get::<String>(1).ok().as_deref().and_then(known_kind);
                Ok(row.get(0).ok().zip(kind))
            })?;
            keys.extend(found.into_iter().flatten().map(|(service, kind)| BudgetKey { service, kind }));
        }
        Ok(keys.into_iter().collect())
    }

    /// The usage of these budgets, and of all that the budget of a host counts which counts one of them. The usage of
    /// [`names_key`] has an entry for each name.
    fn usage_with_hosts(&self, keys: &[BudgetKey]) -> Result<Snapshot> {
        let hosts = self.policy.host_budgets.iter();
        let concerned: Vec<_> =
            hosts.filter(|host| keys.iter().any(|key| host.counts(key, key.kind))).collect();
        let mut keys = keys.to_vec();
        let counts_names = self.policy.unlisted == Unlisted::Own && keys.contains(&names_key());
        let known = if concerned.is_empty() && !counts_names { vec![] } else { self.keys()? };
        let names: BTreeSet<_> = known.iter().map(|key| key.service.clone()).collect();
        if !concerned.is_empty() {
            keys.extend(
                known.into_iter().filter(|key| concerned.iter().any(|host| host.counts(key, key.kind))),
            );
            keys.sort();
            keys.dedup();
        }
        let mut usage = self.usage_of(&keys)?;
        if counts_names {
            let entries = vec![self.now; names.len()];
            usage.insert(names_key(), Usage { entries, ..Usage::default() });
        }
        Ok(usage)
    }

    fn usage_of(&self, keys: &[BudgetKey]) -> Result<Snapshot> {
        let (now, since) = (time::write(self.now), time::floor(self.since));
        let most = MORE_THAN_LIMITS + 2 * i64::from(self.policy.highest_limit());
        // A row of another writer within the window may be the action of a row of opsctl shortly before it.
        let window =
            |key: &BudgetKey| time::floor(self.now - self.policy.window_of(key.kind).delta() - SAME_ACTION);
        let of: Vec<_> = keys.iter().map(|key| (key, self.only(key), window(key))).collect();
        let mut queries: Vec<(&str, Vec<&dyn ToSql>)> = Vec::new();
        let mut parts = Vec::new();
        for (place, (key, only, window)) in of.iter().enumerate() {
            let mut add = |part, sql, values| {
                parts.push((place, part));
                queries.push((sql, values));
            };
            add(UsageQuery::Reset, LAST_RESET, vec![&key.service]);
            add(UsageQuery::Reserved, OPEN_RESERVATIONS, vec![&key.service, &key.kind, window, only]);
            add(UsageQuery::Uncounted, UNCOUNTED, vec![&key.service, &key.kind, only]);
            add(UsageQuery::LastVerb, LAST_VERB, vec![&key.service, &key.kind, &since]);
            if self.policy.exclusive.is_some() {
                add(UsageQuery::Holder, leases::OF_OTHERS, vec![&key.service, &self.agent, &now]);
            }
            add(UsageQuery::Action, ACTIONS, vec![&key.service, &key.kind, window, only, &most]);
        }
        let mut found: Vec<BudgetRows> = keys.iter().map(|_| BudgetRows::default()).collect();
        self.connection.read_all(&queries, |query, row| {
            let part = parts.get(query).and_then(|(place, part)| Some((found.get_mut(*place)?, part)));
            part.map_or(Ok(()), |(found, part)| found.add(*part, row))
        })?;
        Ok(keys.iter().cloned().zip(found.into_iter().map(BudgetRows::usage)).collect())
    }
}

/// What a query of the usage of a budget finds.
#[derive(Clone, Copy)]
enum UsageQuery {
    Reset,
    Reserved,
    Uncounted,
    LastVerb,
    Holder,
    Action,
}

#[derive(Default)]
struct BudgetRows {
    usage: Usage,
    /// The last row and the last reservation that a reset has cleared.
    last_cleared: (i64, i64),
    of_others: Vec<DateTime<Utc>>,
}

impl BudgetRows {
    fn add(&mut self, part: UsageQuery, row: &Row<'_>) -> Result<()> {
        let usage = &mut self.usage;
        match part {
            UsageQuery::Reset => {
                if let Some(at) = row.time(0)? {
                    usage.reset = Some(at);
                    self.last_cleared = (row.get(1)?, row.get(2)?);
                }
            }
            UsageQuery::Reserved => {
                let at = row.time(0)?;
                if row.get::<i64>(1)? > self.last_cleared.1 {
                    usage.entries.extend(at);
                }
            }
            UsageQuery::Uncounted => usage.uncounted.extend(row.time(0)?),
            UsageQuery::LastVerb => usage.stopped = row.get::<String>(0)? == "stop",
            UsageQuery::Holder => usage.holder = leases::holder(row)?,
            UsageQuery::Action => {
                // A row whose time cannot be parsed is ignored.
                let Ok(Some(at)) = row.time(0) else { return Ok(()) };
                let times = if row.get::<i64>(1)? <= self.last_cleared.0 {
                    &mut usage.uncounted
                } else if row.get(2)? {
                    &mut usage.entries
                } else {
                    &mut self.of_others
                };
                times.push(at);
            }
        }
        Ok(())
    }

    fn usage(mut self) -> Usage {
        self.usage.merge_rows(&self.of_others);
        self.usage
    }
}

/// The kind of a budget with this name.
pub(crate) fn known_kind(kind: &str) -> Option<&'static str> {
    ["restart", "redeployment"].into_iter().find(|known| *known == kind)
}
