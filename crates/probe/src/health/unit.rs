//! Checks that a systemd unit is active.

use std::time::Duration;

use super::command::run;
use super::finding::{Finding, Looked, State, plain};

/// Runs `systemctl is-active`.
pub async fn look(name: &str, ssh: Option<&str>, limit: Duration) -> Looked {
    let said = run(&["systemctl", "is-active", name], ssh, limit).await?;
    Ok(match said.stdout.trim() {
        _ if said.success => Finding::new(State::Healthy, "it is active"),
        "" => said.failure(State::Failed, "systemctl"),
        "activating" | "reloading" => Finding::new(State::Starting, "it is still starting"),
        word => Finding::new(State::NotRunning, format!("it is {}", plain(word))),
    })
}
