//! What an operator is to hear.

use chrono::{DateTime, Utc};

use super::event::Level;

/// A message to the operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it is about, e.g. `budget/restart/jellyfin`: the same thing is told once while it is `quiet_until`.
    pub key: String,
    /// No other notice with this key goes out before then; `None`: each one does.
    pub quiet_until: Option<DateTime<Utc>>,
    /// How serious it is.
    pub level: Level,
    /// One line.
    pub title: String,
    /// The text, built from parsed values only: no secret of a command line reaches the operators' channels.
    pub body: Body,
    /// What targets in an apprise configuration file are chosen by, besides the level.
    pub tags: Vec<String>,
}

/// The text of a notice. Not every target understands Markdown, so it reads well as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Markdown, as this program writes it.
    Markdown(String),
    /// Plain text, as somebody else wrote it.
    Plain(String),
}

impl Body {
    /// The text as it is.
    pub fn text(&self) -> &str {
        match self {
            Self::Markdown(text) | Self::Plain(text) => text,
        }
    }
}
