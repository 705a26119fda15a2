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

impl Notice {
    /// A notice in Markdown with one tag, without a rate limit.
    pub fn new(
        key: impl Into<String>,
        tag: &str,
        level: Level,
        title: impl Into<String>,
        body: String,
    ) -> Self {
        let (body, tags) = (Body::Markdown(body), vec![tag.to_owned()]);
        Self { key: key.into(), quiet_until: None, level, title: title.into(), body, tags }
    }

    /// The notice, rate limited until this time.
    #[must_use]
    pub fn quiet_until(self, time: DateTime<Utc>) -> Self {
        Self { quiet_until: Some(time), ..self }
    }

    /// The notice with further tags.
    #[must_use]
    pub fn with_tags<'a>(mut self, tags: impl IntoIterator<Item = &'a str>) -> Self {
        self.tags.extend(tags.into_iter().map(str::to_owned));
        self
    }
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
