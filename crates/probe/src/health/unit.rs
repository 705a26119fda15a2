//! Checks that a systemd unit is active.

use std::time::Duration;

use super::finding::{Finding, Looked, State, plain};
use super::programs::{Rights, Way, ask, without_state};
use opsctl_policy::model::installation::inventory::UnitManager;

/// The command that prints the state of a unit.
pub fn unit_state(name: &str, manager: UnitManager) -> (Vec<String>, Rights) {
    let (words, rights): (&[&str], _) = match manager {
        UnitManager::System => (&["systemctl", "is-active", name], Rights::Own),
        UnitManager::User => (&["systemctl", "--user", "is-active", name], Rights::Session),
    };
    (words.iter().copied().map(str::to_owned).collect(), rights)
}

/// Runs `systemctl is-active`. A unit that does not run for the user may be one of the system.
pub async fn look(name: &str, way: &Way, limit: Duration) -> Looked {
    let own = state(name, way.units(), way, limit).await;
    if way.units() == UnitManager::User
        && own.as_ref().map_or_else(|finding| finding.state, |finding| finding.state) != State::Healthy
        && let Ok(of_system) = state(name, UnitManager::System, way, limit).await
        && of_system.state == State::Healthy
    {
        return Ok(of_system);
    }
    own
}

async fn state(name: &str, manager: UnitManager, way: &Way, limit: Duration) -> Looked {
    let (words, rights) = unit_state(name, manager);
    let said = ask(&words, rights, way, limit).await?;
    Ok(match said.stdout.trim() {
        _ if said.success => Finding::new(State::Healthy, "it is active"),
        "" => return Err(without_state(&said, &words, way)),
        "activating" | "reloading" => Finding::new(State::Starting, "it is still starting"),
        word => Finding::new(State::NotRunning, format!("it is {}", plain(word))),
    })
}
