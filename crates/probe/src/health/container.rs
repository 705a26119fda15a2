//! Checks that a container runs, by the list of its engine.

use std::time::Duration;

use super::command::run;
use super::finding::{Finding, Looked, State, plain};
use opsctl_policy::model::installation::checks::Engine;

/// Checks the container with this name, else the containers of the compose service with this name.
pub async fn look(engine: Engine, name: &str, ssh: Option<&str>, limit: Duration) -> Looked {
    for filter in [format!("name=^{name}$"), format!("label=com.docker.compose.service={name}")] {
        let words = [engine.program(), "ps", "--all", "--filter", &filter, "--format", "{{.Status}}"];
        let said = run(&words, ssh, limit).await?;
        if !said.success {
            return Err(said.failure(State::Failed, engine.program()));
        }
        // Of several containers of a compose service, an unhealthy one decides.
        if let Some(worst) = said.worst(read) {
            return Ok(worst);
        }
    }
    Err(Finding::new(State::Missing, "there is no such container"))
}

/// Parses a status of `docker ps` or `podman ps`, such as `Up 2 hours (healthy)`.
fn read(status: &str) -> Finding {
    let state = if !status.starts_with("Up") || status.contains("(Paused)") {
        State::NotRunning
    } else if status.contains("(unhealthy)") {
        State::Unhealthy
    } else if status.contains("(health: starting)") || status.contains("(starting)") {
        State::Starting
    } else {
        State::Healthy
    };
    Finding::new(state, format!("it is \"{}\"", plain(status)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn parses_the_statuses_of_docker_and_podman() {
        let cases: BTreeMap<String, Vec<String>> =
            serde_saphyr::from_str(include_str!("container.yaml")).unwrap();
        for (state, statuses) in cases {
            for status in statuses {
                assert_eq!(read(&status).state.as_str(), state, "{status}");
            }
        }
    }
}
