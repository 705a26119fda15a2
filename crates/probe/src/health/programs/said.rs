//! What a program has printed, and its exit code.

use crate::health::finding::{Finding, State, plain};

/// The result of a program.
pub struct Said {
    /// Whether its exit code was 0.
    pub success: bool,
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Said {
    /// The finding of a program that failed, with the last line of its standard error.
    pub fn failure(&self, state: State, program: &str) -> Finding {
        let why = last_line(&self.stderr).unwrap_or_else(|| "it failed".to_owned());
        Finding::new(state, format!("{program}: {why}"))
    }

    /// The finding that decides of those of the lines of its output: one that is not healthy.
    pub fn worst(&self, read: fn(&str) -> Finding) -> Option<Finding> {
        let findings = self.stdout.lines().filter(|line| !line.trim().is_empty()).map(read);
        findings.max_by_key(|finding| finding.state != State::Healthy)
    }

    /// The last line of its standard error behind a colon, if there is one.
    pub fn reason(&self) -> String {
        last_line(&self.stderr).map(|line| format!(": {line}")).unwrap_or_default()
    }
}

/// The last line of a program's output that is not blank, as [`plain`] text.
pub fn last_line(output: &str) -> Option<String> {
    output.lines().rfind(|line| !line.trim().is_empty()).map(plain)
}
