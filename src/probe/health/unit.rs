//! Checks that a systemd unit is active.

use super::command::{Said, run};
use super::finding::{Finding, State, plain};

/// Runs `systemctl is-active`.
pub async fn look(name: &str, ssh: Option<&str>) -> Finding {
    match run(&["systemctl", "is-active", name], ssh).await {
        Err(finding) => finding,
        Ok(Said { success: true, .. }) => Finding::new(State::Healthy, "it is active"),
        Ok(Said { stdout, stderr, .. }) => match stdout.trim() {
            "" => {
                let why = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it failed");
                Finding::new(State::Failed, format!("systemctl: {}", plain(why)))
            }
            "activating" | "reloading" => Finding::new(State::Starting, "it is still starting"),
            word => Finding::new(State::NotRunning, format!("it is {}", plain(word))),
        },
    }
}
