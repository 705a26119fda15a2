//! What happened while a session was not looking.

use chrono::{DateTime, SubsecRound as _, Utc};
use rusqlite::params;

use super::super::database::Ledger;
use super::super::error::LedgerError;
use super::super::{migrate, time};

/// So many rows are looked through.
const MOST: usize = 1000;

/// Something that happened, whoever did it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// When.
    pub at: DateTime<Utc>,
    /// The session in which it happened.
    pub session: Option<String>,
    /// The level of an event, or the rule of a denial.
    pub kind: String,
    /// The service, or the services separated by spaces.
    pub service: Option<String>,
    /// In words, from what was parsed.
    pub words: String,
}

pub(super) const EVENTS: &str = "SELECT created_at, session_id, level, service, message FROM events
     WHERE created_at >= ?1 ORDER BY id DESC LIMIT 1000";

pub(super) const DENIALS: &str = "SELECT at, session_id, rule, services, actions FROM hook_decisions
     WHERE verdict <> 'allow' AND at >= ?1 ORDER BY id DESC LIMIT 1000";

impl Ledger {
    /// The events since then, newest first, at most a thousand. In the session itself only what came after that second.
    pub fn missed_events(&self, since: DateTime<Utc>, session: &str) -> Result<Vec<News>, LedgerError> {
        self.news(EVENTS, "events", since, session).map_err(|cause| self.error(cause))
    }

    /// The commands since then that were denied, or that no one could decide on; otherwise as with events.
    pub fn missed_denials(&self, since: DateTime<Utc>, session: &str) -> Result<Vec<News>, LedgerError> {
        self.news(DENIALS, "hook_decisions", since, session).map_err(|cause| self.error(cause))
    }

    fn news(&self, sql: &str, table: &str, since: DateTime<Utc>, own: &str) -> rusqlite::Result<Vec<News>> {
        if !migrate::has_table(&self.connection, table)? || !migrate::is_latest(&self.connection)? {
            return Ok(vec![]);
        }
        // Times are stored to the second.
        let since = since.trunc_subsecs(0);
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(params![time::floor(since)])?;
        let mut found = Vec::new();
        while found.len() < MOST
            && let Some(row) = rows.next()?
        {
            // Other writers' columns may hold any type.
            let at: Option<String> = row.get(0).ok();
            let Some(at) = at.as_deref().and_then(time::read) else { continue };
            let session: Option<String> = row.get(1).unwrap_or(None);
            let is_own = session.as_deref() == Some(own);
            if at > since || (at == since && !is_own) {
                let [kind, words] = [2, 4].map(|column| row.get(column).unwrap_or_default());
                let service: Option<String> = row.get(3).unwrap_or(None);
                let service = service.filter(|service| !service.is_empty());
                found.push(News { at, session, kind, service, words });
            }
        }
        Ok(found)
    }
}
