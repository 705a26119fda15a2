//! Findings of the checks.

use std::fmt;

use serde::Serialize;

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
    pub(crate) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, condition: Condition::Ok, what: what.into(), remedy: None }
    }

    pub(crate) fn warning(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, condition: Condition::Warning, what: what.into(), remedy: Some(remedy.into()) }
    }

    pub(crate) fn failed(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, condition: Condition::Failed, what: what.into(), remedy: Some(remedy.into()) }
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
