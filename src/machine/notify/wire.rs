//! The JSON form of a notice for the detached process that records and delivers it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use opsctl_ledger::LedgerError;
use opsctl_policy::model::records::event::{Level, NewEvent};
use opsctl_policy::model::records::notice::{Body, Notice};

/// The maximum length of a body in characters, so that the pipe's buffer holds it.
const BODY_CHARS: usize = 8_000;

/// Why a notice that was passed on cannot be delivered.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The input is not a notice.
    #[error("the input is not a notification ({0})")]
    Input(#[from] serde_json::Error),
    /// It states something that cannot be.
    #[error("{0}")]
    Stated(String),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// A notice with its session, time and event.
pub struct Raised {
    /// The id of the session.
    pub session: Option<String>,
    /// When it was raised.
    pub at: DateTime<Utc>,
    /// The notice.
    pub notice: Notice,
    /// The event to record with it.
    pub event: Option<NewEvent>,
}

#[derive(Serialize, Deserialize)]
struct RaisedWire {
    session: Option<String>,
    at: DateTime<Utc>,
    key: String,
    quiet_until: Option<DateTime<Utc>>,
    level: Level,
    title: String,
    body: String,
    markdown: bool,
    tags: Vec<String>,
    event: Option<NewEvent>,
}

impl Raised {
    /// A notice that is raised at this time.
    pub fn new(session: Option<&str>, notice: &Notice, event: Option<&NewEvent>, at: DateTime<Utc>) -> Self {
        Self { session: session.map(str::to_owned), at, notice: notice.clone(), event: event.cloned() }
    }

    /// Formats it as one line of JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let Notice { key, quiet_until, level, title, body, tags } = &self.notice;
        serde_json::to_string(&RaisedWire {
            session: self.session.clone(),
            at: self.at,
            key: key.clone(),
            quiet_until: *quiet_until,
            level: *level,
            title: title.clone(),
            // A secret that is cut may not be recognised.
            body: opsctl_redact::text(body.text()).chars().take(BODY_CHARS).collect(),
            markdown: matches!(body, Body::Markdown(_)),
            tags: tags.clone(),
            event: self.event.clone(),
        })
    }

    /// Parses the output of [`Raised::to_json`].
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let wire: RaisedWire = serde_json::from_str(text)?;
        Ok(Self {
            session: wire.session,
            at: wire.at,
            notice: Notice {
                key: wire.key,
                quiet_until: wire.quiet_until,
                level: wire.level,
                title: wire.title,
                body: if wire.markdown { Body::Markdown(wire.body) } else { Body::Plain(wire.body) },
                tags: wire.tags,
            },
            event: wire.event,
        })
    }
}
