//! What a check of the doctor gets, and what it finds.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::hooks::Survey;
use crate::machine::environment::Environment;
use crate::machine::warning::Warning;
use opsctl_inventory::compiled::Compiled;
use opsctl_policy::model::rights::policy::OnFailure;

/// The installation to examine.
#[derive(Debug)]
pub struct Examined<'a> {
    /// The environment.
    pub environment: &'a Environment,
    /// The policy in use.
    pub policy: &'a Compiled,
    /// Problems with the environment and the source of the policy.
    pub warnings: &'a [Warning],
    /// The client's program, if it was found.
    pub client: Option<PathBuf>,
    /// The path of this program.
    pub opsctl: PathBuf,
    /// The hooks of all sources.
    pub hooks: &'a Survey,
    /// Skips slow checks: hosts, services, other programs, the whole ledger.
    pub quick: bool,
}

impl Examined<'_> {
    /// A failure of the guard, which is a warning if the policy states that it fails open.
    pub(super) fn failure(&self, closed: String, open: String, remedy: &str) -> Problem {
        match self.policy.installation.policy.on_failure {
            OnFailure::Closed => failed(closed, remedy),
            OnFailure::Open => warning(open, remedy),
        }
    }
}

/// What a check has found: what is in order, or a problem.
pub type Outcome = Result<String, Problem>;

/// What is not in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whether the guard works at all.
    pub condition: Condition,
    what: String,
    /// What to do about it.
    pub remedy: String,
}

/// A problem with which the guard works, but not fully.
pub(super) fn warning(what: impl Into<String>, remedy: impl Into<String>) -> Problem {
    Problem { condition: Condition::Warning, what: what.into(), remedy: remedy.into() }
}

/// A problem with which the guard does not work.
pub(super) fn failed(what: impl Into<String>, remedy: impl Into<String>) -> Problem {
    Problem { condition: Condition::Failed, what: what.into(), remedy: remedy.into() }
}

/// The condition of a checked thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// No problem.
    Ok,
    /// The guard works, but not fully; or a host or service is down, which is the agent's task.
    Warning,
    /// The guard does not work.
    Failed,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check.
    pub check: &'static str,
    /// The condition.
    pub condition: Condition,
    /// What was found.
    pub what: String,
    /// The remedy; `None` if there is no problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    /// The finding of the check with this name.
    pub fn of(check: &'static str, outcome: Outcome) -> Self {
        match outcome {
            Ok(what) => Self { check, condition: Condition::Ok, what, remedy: None },
            Err(Problem { condition, what, remedy }) => Self { check, condition, what, remedy: Some(remedy) },
        }
    }
}

/// For operators: one line, and one for the remedy.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, condition, what, remedy } = self;
        let condition = match condition {
            Condition::Ok => "ok     ",
            Condition::Warning => "warning",
            Condition::Failed => "FAILED ",
        };
        writeln!(f, "{condition}  {check}: {what}")?;
        remedy.as_deref().map_or(Ok(()), |remedy| writeln!(f, "           {remedy}"))
    }
}

/// The items, separated by commas.
pub(super) fn joined<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// The paths, separated by commas.
pub fn paths<P: AsRef<Path>>(paths: &[P]) -> String {
    joined(paths.iter().map(|path| path.as_ref().display()))
}
