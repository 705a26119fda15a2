//! The outbox: notifications to the operators, and their delivery state.
//!
//! A process claims a notice in one transaction before it sends it, so that two processes never send it twice. A claim
//! expires, because its process may die. Claims and results are rows that are added: on a server, the role of agents cannot
//! state that a notice is delivered, only that it has sent it.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::engine::{OptionalExtension as _, Result, Row, from_row, insert, params};
use crate::file::database::{Change, Ledger};
use crate::time;
use opsctl_policy::model::records::event::Level;
use opsctl_policy::model::records::notice::{Body, Notice};

/// A claim expires after this time, which is longer than any delivery.
const CLAIM_LIFE: TimeDelta = TimeDelta::seconds(60);

/// Notices are not delivered after this time; a flood of old ones would hide new ones.
const STILL_NEWS: TimeDelta = TimeDelta::hours(24);

pub(crate) const SUPPRESSED: &str = "SELECT 1 FROM notices WHERE key = ?1 AND quiet_until > ?2 LIMIT 1";

/// Looks only at the latest 1,000.
pub(crate) const UNDELIVERED: &str = "SELECT count(*) FROM (
         SELECT id FROM notices WHERE state IN ('pending', 'sending', 'failed') AND created_at >= ?1
         ORDER BY created_at DESC LIMIT 1000) AS latest
     WHERE NOT EXISTS (SELECT 1 FROM notice_deliveries AS result WHERE result.notice_id = latest.id)
         AND NOT EXISTS (SELECT 1 FROM notice_attempts AS attempt
             WHERE attempt.notice_id = latest.id AND attempt.state IN ('sent', 'no_target'))";

/// Reads only the latest 500 rows, backwards from the last one.
pub(crate) const PROBLEMS: &str = "SELECT title, created_at, agent, key, tags FROM (
         SELECT title, created_at, agent, key, tags, row_number() OVER (PARTITION BY key ORDER BY created_at DESC, id DESC) AS place FROM
             (SELECT id, key, title, level, created_at, agent, tags FROM notices ORDER BY id DESC LIMIT 500) AS latest
         WHERE level = 'critical' AND created_at >= ?1) AS critical
     WHERE place = 1 ORDER BY created_at DESC";

/// A session of an agent that opsctl ran after a time, of the tiers from ?3 to ?4, and that completed. Reads only the latest 500.
const COMPLETED_SINCE: &str = "SELECT 1 FROM
         (SELECT started_at, outcome, agent, tier FROM client_runs ORDER BY id DESC LIMIT 500) AS latest
     WHERE started_at > ?1 AND outcome = 'completed' AND agent = ?2 AND tier BETWEEN ?3 AND ?4 LIMIT 1";

/// A healthy check of a service that opsctl made after a time. Reads only the latest 500 of the service.
const VERIFIED_SINCE: &str = "SELECT 1 FROM
         (SELECT id, at, healthy FROM service_checks WHERE service = ?1 ORDER BY id DESC LIMIT 500) AS latest
         JOIN verified_checks ON check_id = latest.id
     WHERE at > ?2 AND healthy LIMIT 1";

const LAST_RAISED: &str = "SELECT max(created_at) FROM notices WHERE key = ?1";

/// Notices after ?1 that may be claimed at ?2, when claims end by ?3. `?4`: what an agent states to have sent is left out.
const DUE: &str = "SELECT id FROM notices
     WHERE created_at >= ?1 AND state IN ('pending', 'sending', 'failed')
         AND NOT EXISTS (SELECT 1 FROM notice_deliveries AS result WHERE result.notice_id = notices.id)
         AND NOT EXISTS (SELECT 1 FROM notice_attempts AS last
             WHERE last.id = (SELECT max(id) FROM notice_attempts AS attempt WHERE attempt.notice_id = notices.id)
                 AND ((last.claimed_until > ?2 AND last.claimed_until <= ?3) OR (last.state IN ('sent', 'no_target') AND ?4)))";

const UNDER_WAY: &str = "SELECT 1 FROM notice_attempts AS claim WHERE claim.claimed_until > ?1
     AND claim.id = (SELECT max(id) FROM notice_attempts AS attempt WHERE attempt.notice_id = claim.notice_id)
     AND NOT EXISTS (SELECT 1 FROM notice_deliveries AS result WHERE result.notice_id = claim.notice_id) LIMIT 1";

const STORED: &str = "SELECT id, created_at, title, attempts, delivered_at, last_error, key, level, state, body, format, tags FROM notice_states";

opsctl_policy::words! {
    /// The delivery state of a notice.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NoticeState {
        /// Waits for delivery or for a retry.
        Pending = "pending",
        /// A process is sending it.
        Sending = "sending",
        /// At least one target has accepted it.
        Delivered = "delivered",
        /// An agent that may not record a delivery states that it has sent it.
        Sent = "sent",
        /// No target accepted it, and the retries are used up.
        Failed = "failed",
        /// No target is configured for it.
        NoTarget = "no_target",
    }
}

/// A stored notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredNotice {
    /// Its row id.
    pub id: i64,
    /// When it was recorded; `None` if the time cannot be parsed.
    pub created_at: Option<DateTime<Utc>>,
    /// The severity.
    pub level: Level,
    /// The title, one line.
    pub title: String,
    /// The text.
    pub body: Body,
    /// Tags that select targets.
    pub tags: Vec<String>,
    /// The delivery state.
    pub state: NoticeState,
    /// The number of delivery attempts.
    pub attempts: u32,
    /// When a target accepted it.
    pub delivered_at: Option<DateTime<Utc>>,
    /// Why the last attempt failed, or which part of it. Contains no URL.
    pub last_error: Option<String>,
    /// Its subject, such as `budget/restart/jellyfin`.
    #[serde(skip)]
    pub key: String,
}

/// A critical notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The title, one line.
    pub title: String,
    /// When it was last raised.
    pub at: Option<DateTime<Utc>>,
    /// The agent that raised it; `None` if it is not known.
    pub agent: Option<String>,
}

impl Change<'_> {
    /// Records a notice, without secrets. Returns its row id; `None` if an earlier one with the same key is still within its quiet time.
    pub fn raise(
        &self,
        session: Option<&str>,
        notice: &Notice,
        has_target: bool,
        now: DateTime<Utc>,
    ) -> Result<Option<i64>> {
        let key = opsctl_redact::text(&notice.key);
        if self.exists(SUPPRESSED, params![key, time::write(now)])? {
            return Ok(None);
        }
        let format = match notice.body {
            Body::Markdown(_) => "markdown",
            Body::Plain(_) => "text",
        };
        let state = if has_target { NoticeState::Pending } else { NoticeState::NoTarget };
        insert!(self.add into notices {
            key: key, quiet_until: notice.quiet_until.map(time::write), session_id: session,
            created_at: time::write(now), level: notice.level.as_str(), title: opsctl_redact::text(&notice.title),
            body: opsctl_redact::text(notice.body.text()), format: format, tags: opsctl_redact::text(&notice.tags.join(" ")),
            state: state.as_str(), agent: self.agent()
        }).map(Some)
    }

    /// Claims a notice for sending; `None` if another process has claimed it or it has been delivered.
    pub fn claim_notice(&self, id: i64, now: DateTime<Utc>) -> Result<Option<StoredNotice>> {
        let until = now + CLAIM_LIFE;
        let is_agents = !self.may_add_to("notice_deliveries")?;
        let since = DateTime::UNIX_EPOCH;
        let wanted = params![time::write(since), time::write(now), time::write(until), is_agents, id];
        if !self.exists(&format!("{DUE} AND id = ?5"), wanted)? {
            return Ok(None);
        }
        self.add_attempt(id, NoticeState::Sending, Some(until), None, now)?;
        self.query_row(&format!("{STORED} WHERE id = ?1"), params![id], stored).optional()
    }

    fn add_attempt(
        &self,
        id: i64,
        state: NoticeState,
        until: Option<DateTime<Utc>>,
        error: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<()> {
        insert!(self.run into notice_attempts {
            notice_id: id, at: time::write(now), state: state.as_str(), claimed_until: until.map(time::write),
            error: error.map(opsctl_redact::text), agent: self.agent()
        })
    }

    /// Records the result of sending a claimed notice. `remark` says why it failed, or that some targets rejected it.
    pub fn settle_notice(
        &self,
        id: i64,
        state: NoticeState,
        remark: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<()> {
        match state {
            NoticeState::Delivered | NoticeState::NoTarget if self.may_add_to("notice_deliveries")? => {
                insert!(self.run into notice_deliveries {
                    notice_id: id, at: time::write(now), state: state.as_str(), remark: remark.map(opsctl_redact::text)
                }, "ON CONFLICT DO NOTHING")
            }
            NoticeState::Delivered => self.add_attempt(id, NoticeState::Sent, None, remark, now),
            state => self.add_attempt(id, state, None, remark, now),
        }
    }
}

impl Ledger {
    /// The ids of the notices of the last day that wait for delivery, oldest first.
    pub fn due_notices(&self, now: DateTime<Utc>) -> Result<Vec<i64>> {
        let is_agents = !self.may_add_to("notice_deliveries")?;
        let (since, until) = (time::write(now - STILL_NEWS), time::write(now + CLAIM_LIFE));
        let wanted = params![since, time::write(now), until, is_agents];
        self.query(&format!("{DUE} ORDER BY id"), wanted, |row| row.get(0))
    }

    /// Whether a notice has a claim that has not expired.
    pub fn notices_under_way(&self, now: DateTime<Utc>) -> Result<bool> {
        self.exists(UNDER_WAY, params![time::write(now)])
    }

    /// The number of notices of the last day that are not delivered, among the latest 1,000.
    pub fn undelivered_notices(&self, now: DateTime<Utc>) -> Result<u32> {
        self.query_row(UNDELIVERED, params![time::write(now - STILL_NEWS)], |row| row.get(0))
    }

    /// The critical notices of the last day, the latest of each key, newest first, without those that are resolved.
    pub fn problems(&self, now: DateTime<Utc>) -> Result<Vec<Problem>> {
        let read = |row: &Row<'_>| {
            let problem = from_row!(row => Problem { title, at: time, agent });
            Ok((problem, row.get::<String>(3)?, row.get::<String>(4)?))
        };
        let found = self.query(PROBLEMS, params![time::write(now - STILL_NEWS)], read)?;
        let mut left = Vec::new();
        for (problem, key, tags) in found {
            if !self.is_resolved(&problem, &key, &tags)? {
                left.push(problem);
            }
        }
        Ok(left)
    }

    /// Whether what a notice states has passed: of a request to the model or of a session that failed, once a later session has
    /// completed; of unhealthy services, once each was verified healthy.
    fn is_resolved(&self, problem: &Problem, key: &str, tags: &str) -> Result<bool> {
        let (Some(at), Some(agent)) = (problem.at.map(time::write), &problem.agent) else { return Ok(false) };
        let (kind, rest) = key.split_once('/').unwrap_or((key, ""));
        match kind {
            "api" => self.exists(COMPLETED_SINCE, params![at, agent, 1, 3]),
            "session" => {
                // The report of a session of tier 3 has its id instead of a tier.
                let tier: u8 = rest.split('/').next().and_then(|tier| tier.parse().ok()).unwrap_or(3);
                self.exists(COMPLETED_SINCE, params![at, agent, tier, tier])
            }
            "verification" | "outcome" => {
                let mut services = tags.split_whitespace().filter(|tag| *tag != "verification").peekable();
                if services.peek().is_none() {
                    return Ok(false);
                }
                for service in services {
                    if !self.exists(VERIFIED_SINCE, params![service, at])? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// When the latest notice with this key was raised.
    pub fn last_raised(&self, key: &str) -> Result<Option<DateTime<Utc>>> {
        let latest: Option<String> = self.query_row(LAST_RAISED, params![key], |row| row.get(0))?;
        Ok(latest.as_deref().and_then(time::read))
    }

    /// The latest notices, at most `count`, newest first.
    pub fn latest_notices(&self, count: u32) -> Result<Vec<StoredNotice>> {
        self.query(&format!("{STORED} ORDER BY id DESC LIMIT ?1"), params![count], stored)
    }
}

fn stored(row: &Row<'_>) -> Result<StoredNotice> {
    let text = |column| row.get::<String>(column);
    let (level, state, body, tags) = (text(7)?, text(8)?, text(9)?, text(11)?);
    Ok(from_row!(row => StoredNotice {
        id, created_at: time, title, attempts, delivered_at: time, last_error, key;
        level: Level::named(&level).unwrap_or(Level::Critical),
        state: NoticeState::named(&state).unwrap_or(NoticeState::Failed),
        body: if text(10)? == "markdown" { Body::Markdown(body) } else { Body::Plain(body) },
        tags: tags.split_whitespace().map(str::to_owned).collect()
    }))
}
