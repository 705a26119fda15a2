//! The `events` table.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::decisions::Which;
use super::history::Period;
use crate::engine::{Result, Row, Select, insert, params};
use crate::file::database::{Change, Ledger};
use crate::file::manager::session_column;
use crate::file::migrate;
use crate::time;
use opsctl_policy::model::records::event::NewEvent;

/// A stored event, from opsctl or another writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Its row id, which ascends.
    #[serde(skip)]
    pub id: i64,
    /// The time of the event; `None` if it cannot be parsed.
    #[serde(rename = "created_at", serialize_with = "time::serialize")]
    pub at: Option<DateTime<Utc>>,
    /// The level as stored: usually `info`, `warning` or `critical`.
    pub level: String,
    /// The service.
    pub service: Option<String>,
    /// The message, of any length.
    pub message: String,
    /// The agent; `None` if it is not known.
    pub agent: Option<String>,
    /// The client's session; `None` if it is not known.
    #[serde(skip)]
    pub session: Option<String>,
}

/// An event's session as the client names it, and the tables that hold it. In a table of the session manager, the column
/// holds the number of one of its own sessions.
pub(crate) const OF_SESSION: [&str; 3] = [
    "CASE WHEN event_id IS NULL THEN CAST(events.session_id AS TEXT) ELSE recorded_events.session_id END",
    "events LEFT JOIN recorded_events ON event_id = id",
    "recorded_events.agent",
];

/// How many of the latest events are searched, if no time bounds the search.
const SEARCHED: i64 = 30_000;

pub(crate) const LATEST: &str =
    "SELECT id, created_at, level, service, message, recorded_events.agent, recorded_events.session_id
     FROM events LEFT JOIN recorded_events ON event_id = id WHERE id IN (
     SELECT id FROM (SELECT id FROM events ORDER BY created_at DESC LIMIT ?1) AS latest
     UNION SELECT id FROM (SELECT id FROM events ORDER BY id DESC LIMIT ?1) AS last)";

/// For another program's table that has no index by time: sorting the whole table would be too slow.
pub(crate) const LAST_WRITTEN: &str =
    "SELECT id, created_at, level, service, message, recorded_events.agent, recorded_events.session_id
     FROM events LEFT JOIN recorded_events ON event_id = id ORDER BY id DESC LIMIT ?1";

fn recent_duplicate() -> String {
    let [session, tables, _] = OF_SESSION;
    format!(
        "SELECT 1 FROM (SELECT {session} AS session, message FROM {tables} ORDER BY id DESC LIMIT 50) AS latest
         WHERE session IS ?1 AND message = ?2"
    )
}

opsctl_policy::words! {
    /// The author of an event.
    pub enum Source {
        /// A hook, from a command that ran.
        Hook = "hook",
        /// The agent, with an `[EVENT:…]` line.
        Agent = "llm",
        /// `opsctl session` and its companions.
        Runner = "opsctl",
        /// A program of the agent's side, through the socket of the guard.
        Peer = "agent",
    }
}

impl Change<'_> {
    /// Records an event of a hook.
    pub fn add_event(&self, session: Option<&str>, event: &NewEvent, now: DateTime<Utc>) -> Result<()> {
        self.add_event_from(Source::Hook, session, event, now)
    }

    /// Records an event of any source, without secrets.
    pub fn add_event_from(
        &self,
        source: Source,
        session: Option<&str>,
        event: &NewEvent,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let NewEvent { level, service, message } = event;
        let (service, message) = (service.as_deref().map(opsctl_redact::name), opsctl_redact::text(message));
        let column = session_column(&self.transaction, "events", session)?;
        let (level, at, source) = (level.as_str(), time::write(now), source.as_str());
        // A session manager's own table has no column for the source.
        let id = if migrate::has_column(self, "events", "source")? {
            insert!(self.add into events {
                session_id: column, level: level, service: service, message: message, created_at: at, source: source
            })?
        } else {
            insert!(self.add into events {
                session_id: column, level: level, service: service, message: message, created_at: at
            })?
        };
        insert!(self.run into recorded_events {
            event_id: id, session_id: session, source: source, agent: self.agent()
        }, self.again("event_id", "session_id = excluded.session_id, source = excluded.source, agent = excluded.agent"))
    }

    /// Records an event that two processes may report, unless it is among the latest events of the session.
    pub fn add_event_once(&self, session: Option<&str>, event: &NewEvent, now: DateTime<Utc>) -> Result<()> {
        if self.is_recent_event(session, &event.message)? {
            Ok(())
        } else {
            self.add_event(session, event, now)
        }
    }

    /// Whether there is an event with this message and time.
    pub fn has_event(&self, message: &str, at: DateTime<Utc>) -> Result<bool> {
        let params = params![opsctl_redact::text(message), time::write(at)];
        self.exists("SELECT 1 FROM events WHERE created_at = ?2 AND message = ?1", params)
    }

    /// Whether the latest 50 events contain one of this session (`None`: of no session) with this message.
    pub fn is_recent_event(&self, session: Option<&str>, message: &str) -> Result<bool> {
        let message = opsctl_redact::text(message);
        self.exists(&recent_duplicate(), params![session, message])
    }
}

impl Ledger {
    /// The latest events, at most `count`, newest first.
    ///
    /// Writers use two time formats that do not sort together, and rows may be written late. Candidates are therefore
    /// selected both by time and by row id, and sorted by their parsed times.
    pub fn latest_events(&self, count: u32) -> Result<Vec<Event>> {
        let indexed = migrate::has_index_on(&self.connection, "events", "created_at")?;
        let sql = if indexed { LATEST } else { LAST_WRITTEN };
        let mut events = self.query(sql, params![i64::from(count) * 3], event)?;
        events.sort_by_key(|event| std::cmp::Reverse((event.at, event.id)));
        events.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        Ok(events)
    }

    /// The latest matching events, at most `count`: last written first, or, if all match, newest first, so that late rows of
    /// other programs are in their place.
    pub fn events(&self, which: Which<'_>, count: u32) -> Result<Vec<Event>> {
        if which == Which::default() {
            return self.latest_events(count);
        }
        let Which { service, level, session, since, until, after, through, agent, .. } = which;
        let [in_session, tables, of_agent] = OF_SESSION;
        let floor = since.map(time::floor);
        // As late as the latest day on which a time before `until` may be written.
        let ceiling = until.map(|until| time::floor(until + TimeDelta::days(3)));
        let searched = (since.is_none() && after.is_none()).then_some(SEARCHED);
        let by_time = since.is_some()
            && through.is_none()
            && migrate::has_index_on(&self.connection, "events", "created_at")?;
        let select = Select::new(format!(
            "SELECT id, created_at, level, service, message, {of_agent}, {in_session} FROM {tables}"
        ))
        .only("created_at >= ?", floor.as_ref())
        .only("created_at < ?", ceiling.as_ref())
        .only("id > ?", after.as_ref())
        .only("id <= ?", through.as_ref())
        .only("id > (SELECT max(id) FROM events) - ?", searched.as_ref())
        .only("event_id > (SELECT max(id) FROM events) - ?", agent.and(searched.as_ref()))
        .only("service = ?", service.as_ref())
        .only("level = ?", level.as_ref())
        .only(&format!("{in_session} = ?"), session.as_ref())
        .only(&format!("{of_agent} = ?"), agent.as_ref())
        .then(if by_time { " ORDER BY created_at DESC, id DESC" } else { " ORDER BY id DESC" });
        let most = usize::try_from(count).unwrap_or(usize::MAX);
        self.find_first(&select, most, |row| {
            // The comparison of texts is exact to the day only.
            let is_in_time = |at: DateTime<Utc>| {
                since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until)
            };
            Ok(Some(event(row)?).filter(|event| event.at.map_or(since.is_none(), is_in_time)))
        })
    }

    /// The row id of the last event; 0 if there is none.
    pub fn last_event(&self) -> Result<i64> {
        self.query_row("SELECT coalesce(max(id), 0) FROM events", &[], |row| row.get(0))
    }

    /// The latest events of a period, at most `most`, newest first.
    pub fn events_of_period(&self, which: Which<'_>, most: u32) -> Result<Period<Event>> {
        let mut rows = self.events(which, most.saturating_add(1))?;
        rows.sort_by_key(|event| std::cmp::Reverse(event.at));
        Ok(Period::of(rows, most))
    }
}

/// Reads an event. Columns of other writers may have any type; values that are not text become `?`.
fn event(row: &Row<'_>) -> Result<Event> {
    Ok(Event {
        id: row.get(0)?,
        at: row.time(1).unwrap_or(None),
        level: row.get(2).unwrap_or_else(|_| "?".to_owned()),
        service: row.get(3).unwrap_or(None),
        message: row.get(4).unwrap_or_else(|_| "?".to_owned()),
        agent: row.get(5).unwrap_or(None),
        session: row.get(6).unwrap_or(None),
    })
}
