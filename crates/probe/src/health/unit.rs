//! Checks that a systemd unit is active.

use std::time::Duration;

use super::command::{Said, run};
use super::finding::{Finding, State, plain};

/// Runs `systemctl is-active`.
pub async fn look(name: &str, ssh: Option<&str>, limit: Duration) -> Finding {
    match run(&["systemctl", "is-active", name], ssh, limit).await {
        Err(finding) => finding,
        Ok(Said { success: true, .. }) => Finding::new(State::Healthy, "it is active"),
        Ok(said) => match said.stdout.trim() {
            "" => said.failure(State::Failed, "systemctl"),
            "activating" | "reloading" => Finding::new(State::Starting, "it is still starting"),
            word => Finding::new(State::NotRunning, format!("it is {}", plain(word))),
        },
    }
}
