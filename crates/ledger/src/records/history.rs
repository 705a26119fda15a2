//! Actions within a period, for reports.

use chrono::{DateTime, TimeDelta, Utc};

use crate::engine::{Result, Row, params};
use crate::file::database::Ledger;
use crate::time;
use opsctl_policy::budgets::budget::is_same_action;

/// An action that has run, successfully or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRecord {
    /// When it was settled.
    pub at: DateTime<Utc>,
    /// The service.
    pub service: String,
    /// `restart` or `redeployment`.
    pub kind: String,
    /// `restart`, `stop`, `start`, …; `None` for an action that no hook recorded.
    pub verb: Option<String>,
    /// The host; `None` for this machine, or if unknown.
    pub host: Option<String>,
    /// Whether it succeeded; `None` if its outcome is unknown.
    pub succeeded: Option<bool>,
    /// The id of the session.
    pub session: Option<String>,
    /// The agent; `None` if it is not known.
    pub agent: Option<String>,
}

/// The latest rows of a period, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Whether older rows of the period are left out.
    pub cut: bool,
}

impl<T> Default for Period<T> {
    fn default() -> Self {
        Self { rows: vec![], cut: false }
    }
}

impl<T> Period<T> {
    /// Truncates rows that were read with a limit of `most` + 1.
    pub(crate) fn of(mut rows: Vec<T>, most: u32) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let cut = rows.len() > most;
        rows.truncate(most);
        Self { rows, cut }
    }
}

const BY_HOOKS: &str = "SELECT settled_at, service, kind, verb, host, CASE state WHEN 'unknown' THEN NULL ELSE state = 'done' END, session_id, agent
     FROM hook_actions WHERE state IN ('done', 'failed', 'unknown') AND settled_at >= ?1 AND settled_at < ?3 ORDER BY settled_at DESC, id DESC LIMIT ?2";

/// Rows that no hook settled, among the latest ones: the table has no index by time. The last column: whether another program
/// wrote the row.
const BY_OTHERS: &str =
    "SELECT timestamp, service, action_type, NULL, NULL, success, recorded_actions.session_id,
         recorded_actions.agent, action_id IS NULL
     FROM cooldown_actions LEFT JOIN recorded_actions ON action_id = id
     WHERE id > (SELECT max(id) FROM cooldown_actions) - 20000 AND timestamp >= ?1 AND timestamp < ?3 AND by_hand IS NOT FALSE
     ORDER BY id DESC LIMIT ?2";

impl Ledger {
    /// The latest actions at or after `since` and before `until`, at most `most`, recorded by hooks, people or other programs.
    pub fn actions_since(
        &self,
        since: DateTime<Utc>,
        until: Option<DateTime<Utc>>,
        most: u32,
    ) -> Result<Period<ActionRecord>> {
        // As late as the latest day on which a time before `until` may be written.
        let ceiling = until.map_or("9999-12-31".to_owned(), |until| time::floor(until + TimeDelta::days(3)));
        let wanted = params![time::floor(since), i64::from(most) + 1, ceiling];
        // Columns of other writers may have any type; rows that cannot be read are ignored.
        let mut actions = self.find(BY_HOOKS, wanted, usize::MAX, |row| Ok(action(row)))?;
        let mut again = Vec::new();
        self.query(BY_OTHERS, wanted, |row| {
            let list = if row.get(8)? { &mut again } else { &mut actions };
            list.extend(action(row));
            Ok(())
        })?;
        again.retain(|record| !actions.iter().any(|action| is_same(action, record)));
        actions.append(&mut again);
        actions.retain(|action| action.at >= since && until.is_none_or(|until| action.at < until));
        actions.sort_by_key(|action| std::cmp::Reverse(action.at));
        Ok(Period::of(actions, most))
    }
}

/// Whether another program's record is of an action that opsctl has recorded, too.
fn is_same(action: &ActionRecord, record: &ActionRecord) -> bool {
    action.service == record.service && action.kind == record.kind && is_same_action(action.at, record.at)
}

fn action(row: &Row<'_>) -> Option<ActionRecord> {
    Some(ActionRecord {
        at: row.time(0).ok()??,
        service: row.get(1).ok()?,
        kind: row.get(2).ok()?,
        verb: row.get(3).ok()?,
        host: row.get(4).ok()?,
        succeeded: row.get(5).ok()?,
        session: row.get(6).unwrap_or(None),
        agent: row.get(7).unwrap_or(None),
    })
}
