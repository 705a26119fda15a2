//! The outbox: what the operators are to hear, and what became of it.
//!
//! A notice is sent by whoever claims it: one atomic update, so that two processes never send it twice. A claim
//! ends by itself, since its process may die.

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{OptionalExtension, Row, params};

use super::database::{Change, Ledger};
use super::error::LedgerError;
use super::{migrate, time};
use crate::model::event::Level;
use crate::model::notice::{Body, Notice};

/// A claim without a word after this long belongs to a process that died: no delivery takes so long.
const CLAIM_LIFE: TimeDelta = TimeDelta::seconds(60);

/// What could not be delivered in a day is history; a flood of it would hide what is new.
const STILL_NEWS: TimeDelta = TimeDelta::hours(24);

pub(super) const SUPPRESSED: &str = "SELECT 1 FROM notices WHERE key = ?1 AND quiet_until > ?2 LIMIT 1";

pub(super) const UNDELIVERED: &str = "SELECT count(*) FROM notices
     WHERE state IN ('pending', 'sending', 'failed') AND created_at >= ?1";

/// The latest rows, found by walking back from the last one.
pub(super) const PROBLEMS: &str = "SELECT title, max(created_at) FROM
         (SELECT key, title, level, created_at FROM notices ORDER BY id DESC LIMIT 500)
     WHERE level = 'critical' AND created_at >= ?1 GROUP BY key ORDER BY max(created_at) DESC";

const DUE: &str = "SELECT id FROM notices
     WHERE created_at >= ?1 AND (state IN ('pending', 'failed') OR (state = 'sending' AND claimed_until <= ?2)) ORDER BY id";

const UNDER_WAY: &str = "SELECT 1 FROM notices WHERE state = 'sending' AND claimed_until > ?1 LIMIT 1";

const CLAIM: &str = "UPDATE notices SET state = 'sending', attempts = attempts + 1, claimed_until = ?3
     WHERE id = ?1 AND (state IN ('pending', 'failed') OR (state = 'sending' AND claimed_until <= ?2))";

const LIST: &str =
    "SELECT id, created_at, level, title, body, format, tags, state, attempts, delivered_at, last_error
     FROM notices ORDER BY id DESC LIMIT ?1";

const ONE: &str =
    "SELECT id, created_at, level, title, body, format, tags, state, attempts, delivered_at, last_error
     FROM notices WHERE id = ?1";

/// How far a notice has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeState {
    /// Waits to be sent, or to be sent again.
    Pending,
    /// Somebody sends it.
    Sending,
    /// A target has it.
    Delivered,
    /// Nobody took it, and its own process has given up.
    Failed,
    /// There was nowhere to send it.
    NoTarget,
}

impl NoticeState {
    const ALL: [Self; 5] = [Self::Pending, Self::Sending, Self::Delivered, Self::Failed, Self::NoTarget];

    /// As it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::NoTarget => "no_target",
        }
    }
}

/// A notice as it stands in the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNotice {
    /// Its number.
    pub id: i64,
    /// When it was written down.
    pub created_at: Option<DateTime<Utc>>,
    /// How serious it is.
    pub level: Level,
    /// One line.
    pub title: String,
    /// The text.
    pub body: Body,
    /// What targets are chosen by.
    pub tags: Vec<String>,
    /// How far it has got.
    pub state: NoticeState,
    /// How often it has been sent.
    pub attempts: u32,
    /// When a target took it.
    pub delivered_at: Option<DateTime<Utc>>,
    /// Why it was not taken the last time, or not by every target. Holds no URL.
    pub last_error: Option<String>,
}

/// Something that a person was called for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// One line.
    pub title: String,
    /// When, the last time.
    pub at: Option<DateTime<Utc>>,
}

impl Change<'_> {
    /// Writes a notice down, unless the same has been told and is still quiet. Returns its number.
    pub fn raise(
        &self,
        session: Option<&str>,
        notice: &Notice,
        has_target: bool,
        now: DateTime<Utc>,
    ) -> Result<Option<i64>, LedgerError> {
        self.try_raise(session, notice, has_target, now).map_err(|cause| self.error(cause))
    }

    fn try_raise(
        &self,
        session: Option<&str>,
        notice: &Notice,
        has_target: bool,
        now: DateTime<Utc>,
    ) -> rusqlite::Result<Option<i64>> {
        if self.transaction.prepare(SUPPRESSED)?.exists(params![notice.key, time::write(now)])? {
            return Ok(None);
        }
        let format = match notice.body {
            Body::Markdown(_) => "markdown",
            Body::Plain(_) => "text",
        };
        let state = if has_target { NoticeState::Pending } else { NoticeState::NoTarget };
        self.transaction.execute(
            "INSERT INTO notices (key, quiet_until, session_id, created_at, level, title, body, format, tags, state)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                notice.key,
                notice.quiet_until.map(time::write),
                session,
                time::write(now),
                notice.level.as_str(),
                notice.title,
                notice.body.text(),
                format,
                notice.tags.join(" "),
                state.as_str(),
            ],
        )?;
        Ok(Some(self.transaction.last_insert_rowid()))
    }

    /// Takes a notice to send it. `None`: somebody else has it, or it has been delivered.
    pub fn claim_notice(&self, id: i64, now: DateTime<Utc>) -> Result<Option<StoredNotice>, LedgerError> {
        let claim = || {
            let until = time::write(now + CLAIM_LIFE);
            match self.transaction.execute(CLAIM, params![id, time::write(now), until])? {
                0 => Ok(None),
                _ => self.transaction.query_row(ONE, [id], stored).optional(),
            }
        };
        claim().map_err(|cause| self.error(cause))
    }

    /// Writes down what became of a claimed notice: delivered (with a remark where not every target took it),
    /// or not, and why.
    pub fn settle_notice(
        &self,
        id: i64,
        state: NoticeState,
        remark: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<(), LedgerError> {
        let delivered_at = (state == NoticeState::Delivered).then(|| time::write(now));
        self.transaction
            .execute(
                "UPDATE notices SET state = ?2, last_error = ?3, delivered_at = ?4, claimed_until = NULL WHERE id = ?1",
                params![id, state.as_str(), remark, delivered_at],
            )
            .map(|_| ())
            .map_err(|cause| self.error(cause))
    }
}

impl Ledger {
    /// The notices that wait to be sent, oldest first; those of the last day.
    pub fn due_notices(&self, now: DateTime<Utc>) -> Result<Vec<i64>, LedgerError> {
        let look = || {
            if !migrate::is_latest(&self.connection)? {
                return Ok(vec![]);
            }
            let since = time::write(now - STILL_NEWS);
            self.connection.prepare(DUE)?.query_map([since, time::write(now)], |row| row.get(0))?.collect()
        };
        look().map_err(|cause| self.error(cause))
    }

    /// Whether a living process is sending a notice.
    pub fn notices_under_way(&self, now: DateTime<Utc>) -> Result<bool, LedgerError> {
        let look = || {
            Ok(migrate::is_latest(&self.connection)?
                && self.connection.prepare(UNDER_WAY)?.exists([time::write(now)])?)
        };
        look().map_err(|cause| self.error(cause))
    }

    /// How many notices of the last day nobody has heard.
    pub fn undelivered_notices(&self, now: DateTime<Utc>) -> Result<u32, LedgerError> {
        let look = || {
            if !migrate::is_latest(&self.connection)? {
                return Ok(0);
            }
            self.connection.query_row(UNDELIVERED, [time::write(now - STILL_NEWS)], |row| row.get(0))
        };
        look().map_err(|cause| self.error(cause))
    }

    /// What a person had to be called for within the last day: the latest notice of each
    /// subject, newest first.
    pub fn problems(&self, now: DateTime<Utc>) -> Result<Vec<Problem>, LedgerError> {
        let look = || {
            if !migrate::is_latest(&self.connection)? {
                return Ok(vec![]);
            }
            let since = time::write(now - STILL_NEWS);
            let read =
                |row: &Row<'_>| Ok(Problem { title: row.get(0)?, at: time::read(&row.get::<_, String>(1)?) });
            self.connection.prepare(PROBLEMS)?.query_map([since], read)?.collect()
        };
        look().map_err(|cause| self.error(cause))
    }

    /// The latest notices, newest first.
    pub fn latest_notices(&self, count: u32) -> Result<Vec<StoredNotice>, LedgerError> {
        let look = || {
            if !migrate::is_latest(&self.connection)? {
                return Ok(vec![]);
            }
            self.connection.prepare(LIST)?.query_map([count], stored)?.collect()
        };
        look().map_err(|cause| self.error(cause))
    }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredNotice> {
    let time_of = |column| -> rusqlite::Result<_> {
        Ok(row.get::<_, Option<String>>(column)?.as_deref().and_then(time::read))
    };
    let (level, state): (String, String) = (row.get(2)?, row.get(7)?);
    let (body, format): (String, String) = (row.get(4)?, row.get(5)?);
    let tags: String = row.get(6)?;
    Ok(StoredNotice {
        id: row.get(0)?,
        created_at: time_of(1)?,
        level: Level::named(&level).unwrap_or(Level::Critical),
        title: row.get(3)?,
        body: if format == "markdown" { Body::Markdown(body) } else { Body::Plain(body) },
        tags: tags.split(' ').filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
        state: NoticeState::ALL
            .into_iter()
            .find(|known| known.as_str() == state)
            .unwrap_or(NoticeState::Failed),
        attempts: row.get(8)?,
        delivered_at: time_of(9)?,
        last_error: row.get(10)?,
    })
}
