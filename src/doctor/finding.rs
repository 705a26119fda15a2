//! What a check of the installation finds.

use std::fmt;

use serde::Serialize;

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// As it should be.
    Ok,
    /// The guard holds, but not as well as it could.
    Warning,
    /// The guard does not hold, or what it is for is down.
    Failed,
}

/// One thing, how it is, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The thing.
    pub check: &'static str,
    /// How it is.
    pub condition: Condition,
    /// What was seen.
    pub what: String,
    /// What to do; nothing where all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, condition: Condition::Ok, what: what.into(), remedy: None }
    }

    pub(super) fn warning(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, condition: Condition::Warning, what: what.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn failed(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
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
