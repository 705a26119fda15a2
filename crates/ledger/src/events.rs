//! The `events` table.

use chrono::{DateTime, Utc};

use super::database::{Change, Ledger};
use super::engine;
use super::engine::{Row, params};
use super::error::LedgerError;
use super::manager::SessionColumn;
use super::{migrate, time};
use crate::model::event::NewEvent;
use crate::redact;

/// A stored event, from opsctl or another writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The time of the event; `None` if it cannot be parsed.
    pub at: Option<DateTime<Utc>>,
    /// The level as stored: usually `info`, `warning` or `critical`.
    pub level: String,
    /// The service.
    pub service: Option<String>,
    /// The message, of any length.
    pub message: String,
    /// The agent; `None` if it is not known.
    pub agent: Option<String>,
}

/// Selects events; `None` selects all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WhichEvents<'a> {
    /// Those of this service.
    pub service: Option<&'a str>,
    /// Those of this level.
    pub level: Option<&'a str>,
    /// Those of this session.
    pub session: Option<&'a str>,
    /// Those at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Those with a larger row id.
    pub after: Option<i64>,
    /// Those of this agent.
    pub agent: Option<&'a str>,
}

/// An event's session as the client names it, and the tables that hold it. In a table of the session manager, the column
/// holds the number of one of its own sessions.
pub(super) const OF_SESSION: [&str; 3] = [
    "CASE WHEN event_id IS NULL THEN CAST(events.session_id AS TEXT) ELSE recorded_events.session_id END",
    "events LEFT JOIN recorded_events ON event_id = id",
    "recorded_events.agent",
];

/// Of a database without the tables of opsctl.
const OF_OTHERS: [&str; 3] = ["session_id", "events", "CAST(NULL AS TEXT)"];

fn matching([session, tables, agent]: [&str; 3]) -> String {
    format!(
        "SELECT id, created_at, level, service, message, {agent} FROM {tables}
         WHERE (service = ?1 OR ?1 IS NULL) AND (level = ?2 OR ?2 IS NULL) AND ({session} = ?3 OR ?3 IS NULL)
             AND (created_at >= ?4 OR ?4 IS NULL) AND (id > ?5 OR ?5 IS NULL)
             AND ({agent} = ?6 OR ?6 IS NULL) ORDER BY id DESC"
    )
}

pub(super) const LATEST: &str =
    "SELECT id, created_at, level, service, message, NULL FROM events WHERE id IN (
     SELECT id FROM (SELECT id FROM events ORDER BY created_at DESC LIMIT ?1) AS latest
     UNION SELECT id FROM (SELECT id FROM events ORDER BY id DESC LIMIT ?1) AS last)";

/// For another program's table that has no index by time: sorting the whole table would be too slow.
pub(super) const LAST_WRITTEN: &str =
    "SELECT id, created_at, level, service, message, NULL FROM events ORDER BY id DESC LIMIT ?1";

fn recent_duplicate() -> String {
    let [session, tables, _] = OF_SESSION;
    format!(
        "SELECT 1 FROM (SELECT {session} AS session, message FROM {tables} ORDER BY id DESC LIMIT 50) AS latest
         WHERE session IS ?1 AND message = ?2"
    )
}

/// The author of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A hook, from a command that ran.
    Hook,
    /// The agent, with an `[EVENT:…]` line.
    Agent,
    /// `opsctl session` and its companions.
    Runner,
    /// A program of the agent's side, through the socket of the guard.
    Peer,
}

impl Source {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Agent => "llm",
            Self::Runner => "opsctl",
            Self::Peer => "agent",
        }
    }
}

impl Change<'_> {
    /// Records an event of a hook.
    pub fn add_event(
        &self,
        session: Option<&str>,
        event: &NewEvent,
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        self.add_event_from(Source::Hook, session, event, now)
    }

    /// Records an event of any source, without secrets.
    pub fn add_event_from(
        &self,
        source: Source,
        session: Option<&str>,
        event: &NewEvent,
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        self.try_add_event(source, session, event, now).map_err(|cause| self.error(cause))
    }

    fn try_add_event(
        &self,
        source: Source,
        session: Option<&str>,
        event: &NewEvent,
        now: DateTime<Utc>,
    ) -> engine::Result<()> {
        let NewEvent { level, service, message } = event;
        let (service, message) = (service.as_deref().map(redact::name), redact::text(message));
        let column = SessionColumn::of(&self.transaction, "events", session)?;
        let (level, at, source) = (level.as_str(), time::write(now), source.as_str());
        let row = params![column.value(), level, service, message, at, source];
        let (sql, row) = if migrate::has_column(&self.transaction, "events", "source")? {
            let sql = "INSERT INTO events (session_id, level, service, message, created_at, source)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING id";
            (sql, row)
        } else {
            let sql = "INSERT INTO events (session_id, level, service, message, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id";
            (sql, row.split_last().map_or(row, |(_, row)| row))
        };
        let id: i64 = self.transaction.query_row(sql, row, |row| row.get(0))?;
        self.transaction
            .run(
                &format!(
                    "INSERT INTO recorded_events (event_id, session_id, source, agent) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (event_id) {}",
                    // The ids of a server are used once, and its agents change no history.
                    if self.transaction.is_server() { "DO NOTHING" } else { "DO UPDATE SET session_id = ?2, source = ?3, agent = ?4" },
                ),
                params![id, session, source, self.agent()],
            )
    }

    /// Records an event that two processes may report, unless it is among the latest events of the session.
    pub fn add_event_once(
        &self,
        session: Option<&str>,
        event: &NewEvent,
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        if self.is_recent_event(session, &event.message)? {
            Ok(())
        } else {
            self.add_event(session, event, now)
        }
    }

    /// Whether there is an event with this message and time.
    pub fn has_event(&self, message: &str, at: DateTime<Utc>) -> Result<bool, LedgerError> {
        let params = params![redact::text(message), time::write(at)];
        let found = || {
            self.transaction
                .prepare("SELECT 1 FROM events WHERE created_at = ?2 AND message = ?1")?
                .exists(params)
        };
        found().map_err(|e| self.error(e))
    }

    /// Whether the latest 50 events contain one of this session (`None`: of no session) with this message.
    pub fn is_recent_event(&self, session: Option<&str>, message: &str) -> Result<bool, LedgerError> {
        let message = redact::text(message);
        let found = || self.transaction.prepare(&recent_duplicate())?.exists(params![session, message]);
        found().map_err(|e| self.error(e))
    }
}

impl Ledger {
    /// The latest events, at most `count`, newest first; `None` if the table does not exist.
    ///
    /// Writers use two time formats that do not sort together, and rows may be written late. Candidates are therefore
    /// selected both by time and by row id, and sorted by their parsed times.
    pub fn latest_events(&self, count: u32) -> Result<Option<Vec<Event>>, LedgerError> {
        let fail = |cause| self.error(cause);
        if !migrate::has_table(&self.connection, "events").map_err(fail)? {
            return Ok(None);
        }
        let indexed = migrate::has_index_on(&self.connection, "events", "created_at").map_err(fail)?;
        let sql = if indexed { LATEST } else { LAST_WRITTEN };
        let mut sql = sql.to_owned();
        if migrate::is_latest(&self.connection).map_err(fail)? {
            let [_, tables, agent] = OF_SESSION;
            sql = sql.replacen("NULL FROM events", &format!("{agent} FROM {tables}"), 1);
        }
        let mut statement = self.connection.prepare(&sql).map_err(fail)?;
        let mut events = statement
            .query_map([i64::from(count) * 3], |row| Ok((row.get::<i64>(0)?, event(row))))
            .and_then(Iterator::collect::<engine::Result<Vec<_>>>)
            .map_err(fail)?;
        events.sort_by(|(id_a, a), (id_b, b)| (b.at, id_b).cmp(&(a.at, id_a)));
        events.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        Ok(Some(events.into_iter().map(|(_, event)| event).collect()))
    }
}

impl Ledger {
    /// The latest matching events with their row ids, at most `count`, last written first; `None` if the table does
    /// not exist.
    pub fn events(
        &self,
        which: WhichEvents<'_>,
        count: usize,
    ) -> Result<Option<Vec<(i64, Event)>>, LedgerError> {
        let look = || {
            if !migrate::has_table(&self.connection, "events")? {
                return Ok(None);
            }
            let WhichEvents { service, level, session, since, after, agent } = which;
            let of = if migrate::is_latest(&self.connection)? { OF_SESSION } else { OF_OTHERS };
            let mut statement = self.connection.prepare(&matching(of))?;
            let mut rows =
                statement.query(params![service, level, session, since.map(time::floor), after, agent])?;
            let mut found = Vec::new();
            while found.len() < count
                && let Some(row) = rows.next()?
            {
                let event = event(&row);
                // The comparison of texts is exact to the day only.
                if since.is_none_or(|since| event.at.is_some_and(|at| at >= since)) {
                    found.push((row.get(0)?, event));
                }
            }
            Ok(Some(found))
        };
        look().map_err(|cause| self.error(cause))
    }
}

/// Reads an event. Columns of other writers may have any type; values that are not text become `?`.
fn event(row: &Row<'_>) -> Event {
    let at: Option<String> = row.get(1).ok();
    Event {
        at: at.as_deref().and_then(time::read),
        level: row.get(2).unwrap_or_else(|_| "?".to_owned()),
        service: row.get(3).unwrap_or(None),
        message: row.get(4).unwrap_or_else(|_| "?".to_owned()),
        agent: row.get(5).unwrap_or(None),
    }
}
