//! The findings of a rehearsal.

use std::path::PathBuf;

use serde::Serialize;

/// What became of a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The guard held.
    Held,
    /// It did not.
    Broken,
    /// The policy in force does not promise it.
    NotPromised,
}

/// A guarantee, and what was seen of it.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// What is guaranteed.
    pub guarantee: &'static str,
    /// What became of it.
    pub outcome: Outcome,
    /// What was seen.
    pub seen: String,
}

/// What a rehearsal found out.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The client's program.
    pub client: PathBuf,
    /// Its release.
    pub version: String,
    /// The guarantees, in a fixed order.
    pub guarantees: Vec<Finding>,
}

impl Report {
    /// Whether no guarantee broke.
    pub fn is_good(&self) -> bool {
        self.guarantees.iter().all(|finding| finding.outcome != Outcome::Broken)
    }
}

/// Why there was no rehearsal.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// The client cannot be started.
    #[error("the client {client} cannot be started ({error}); name it with --client")]
    Client {
        /// Its program.
        client: String,
        /// What went wrong.
        error: std::io::Error,
    },
    /// Settings that would lead the client away from the scripted model.
    #[error(
        "{path} sets `{key}`, which would lead the rehearsal to a real model; take it out, or set it in the client's environment"
    )]
    LedAway {
        /// The settings.
        path: String,
        /// The key in them.
        key: String,
    },
    /// Settings that cannot be read at all.
    #[error("{path}: {error}; check its owner and rights")]
    Settings {
        /// The settings.
        path: String,
        /// What went wrong.
        error: std::io::Error,
    },
}
