//! Checks that a systemd unit is active.

use std::time::Duration;

use super::command::{Said, last_line, run};
use super::finding::{Finding, State, plain};

/// Runs `systemctl is-active`.
pub async fn look(name: &str, ssh: Option<&str>, limit: Duration) -> Finding {
    match run(&["systemctl", "is-active", name], ssh, limit).await {
        Err(finding) => finding,
        Ok(Said { success: true, .. }) => Finding::new(State::Healthy, "it is active"),
        Ok(Said { stdout, stderr, .. }) => match stdout.trim() {
            "" => {
                let why = last_line(&stderr).unwrap_or_else(|| "it failed".to_owned());
                Finding::new(State::Failed, format!("systemctl: {why}"))
            }
            "activating" | "reloading" => Finding::new(State::Starting, "it is still starting"),
            word => Finding::new(State::NotRunning, format!("it is {}", plain(word))),
        },
    }
}
