//! Notifications to the operators.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::event::Level;

/// A notification to the operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its subject, e.g. `budget/restart/jellyfin`. Notices with one key are rate limited by `quiet_until`.
    pub key: String,
    /// Until this time, further notices with this key are suppressed; `None` for no rate limit.
    pub quiet_until: Option<DateTime<Utc>>,
    /// The severity.
    pub level: Level,
    /// The title, one line.
    pub title: String,
    /// The text. It contains parsed values only, so that no secret of a command line is sent.
    pub body: Body,
    /// Tags, in addition to the level, that select targets in an apprise configuration file.
    pub tags: Vec<String>,
}

/// The text of a notice. Markdown must be readable as plain text, because not every target renders it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Body {
    /// Markdown written by opsctl.
    Markdown(String),
    /// Plain text from another program.
    Plain(String),
}

impl Body {
    /// The text, unchanged.
    pub fn text(&self) -> &str {
        match self {
            Self::Markdown(text) | Self::Plain(text) => text,
        }
    }
}
