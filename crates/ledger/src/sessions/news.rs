//! Events and denials since a session was last active.

use chrono::{DateTime, SubsecRound as _, Utc};

use super::super::engine::{Result, params};
use super::super::time;
use crate::file::database::Ledger;
use crate::records::events::OF_SESSION;

/// An event or a denied command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// When it happened.
    pub at: DateTime<Utc>,
    /// The id of the session in which it happened.
    pub session: Option<String>,
    /// The level of an event, or the rule of a denial.
    pub kind: String,
    /// The service, or the services separated by spaces.
    pub service: Option<String>,
    /// The event's message, or a description of the denied actions.
    pub words: String,
}

fn latest_events() -> String {
    let [session, tables, _] = OF_SESSION;
    format!(
        "SELECT created_at, {session}, level, service, message FROM {tables}
         WHERE created_at >= ?1 ORDER BY id DESC LIMIT 1000"
    )
}

const DENIALS: &str = "SELECT at, session_id, rule, services, actions FROM hook_decisions
     WHERE verdict <> 'allow' AND at >= ?1 ORDER BY id DESC LIMIT 1000";

impl Ledger {
    /// The events at or after `since`, newest first, at most 1,000. Events of `session` itself must be later than the
    /// second of `since`.
    pub fn missed_events(&self, since: DateTime<Utc>, session: &str) -> Result<Vec<News>> {
        self.news(&latest_events(), since, session)
    }

    /// The commands at or after `since` that were denied or could not be checked, newest first, at most 1,000. Those of
    /// `session` itself must be later than the second of `since`.
    pub fn missed_denials(&self, since: DateTime<Utc>, session: &str) -> Result<Vec<News>> {
        self.news(DENIALS, since, session)
    }

    fn news(&self, sql: &str, since: DateTime<Utc>, own: &str) -> Result<Vec<News>> {
        // Times are stored to the second.
        let since = since.trunc_subsecs(0);
        self.find(sql, params![time::floor(since)], usize::MAX, |row| {
            // Columns of other writers may have any type.
            let session: Option<String> = row.get(1).unwrap_or(None);
            let is_own = session.as_deref() == Some(own);
            let is_missed = |at: &DateTime<Utc>| *at > since || (*at == since && !is_own);
            let Some(at) = row.time(0).unwrap_or(None).filter(is_missed) else { return Ok(None) };
            let [kind, words] = [2, 4].map(|column| row.get(column).unwrap_or_default());
            let service: Option<String> = row.get(3).unwrap_or(None);
            let service = service.filter(|service| !service.is_empty());
            Ok(Some(News { at, session, kind, service, words }))
        })
    }
}
