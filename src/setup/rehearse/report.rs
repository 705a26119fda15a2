//! The findings of a rehearsal.

use std::path::PathBuf;

use serde::Serialize;

/// The outcome of rehearsing a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GuaranteeStatus {
    /// The guarantee holds.
    Pass,
    /// The guarantee does not hold.
    Fail,
    /// The active policy does not include the guarantee.
    NotApplicable,
}

/// The outcome of a guarantee, and what was observed.
pub type Seen = (GuaranteeStatus, String);

/// A guarantee and its outcome.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The guarantee.
    pub guarantee: &'static str,
    /// The outcome.
    pub outcome: GuaranteeStatus,
    /// What was observed.
    pub seen: String,
}

/// The result of a rehearsal.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The client's program.
    pub client: PathBuf,
    /// The client's release.
    pub version: String,
    /// The guarantees, in a fixed order.
    pub guarantees: Vec<Finding>,
}

impl Report {
    /// Whether no guarantee failed.
    pub fn is_good(&self) -> bool {
        self.guarantees.iter().all(|finding| finding.outcome != GuaranteeStatus::Fail)
    }
}

/// Why a rehearsal is not possible.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// No guarantee contains this text, which was given to select some.
    #[error("no guarantee contains `{0}`; `opsctl rehearse` without --only prints all")]
    NoGuarantee(String),
    /// The client with this program cannot be started.
    #[error("the client {0} cannot be started ({1}); name it with --client")]
    Client(String, std::io::Error),
    /// There is no such project folder.
    #[error(
        "the project folder {0} does not exist; create it with `opsctl render --out`, or name another with --project"
    )]
    NoProject(PathBuf),
    /// A key of the managed settings in this file would direct the client to a real model.
    #[error(
        "{0} sets `{1}`, which would direct the rehearsal to a real model; remove it, or set it in the client's environment"
    )]
    RealModel(&'static str, String),
    /// This settings file cannot be read.
    #[error("{0}: {1}; check its owner and rights")]
    Settings(String, std::io::Error),
}
