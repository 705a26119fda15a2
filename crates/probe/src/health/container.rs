//! Checks that a container runs, by the list of its engine.

use std::time::Duration;

use super::finding::{Finding, Looked, State, plain};
use super::programs::{Rights, Way, ask, without_state};
use opsctl_policy::model::installation::checks::Engine;

/// What docker prints if its daemon does not run: then no container does.
const DAEMON_DOWN: &str = "Is the docker daemon running?";

/// The names under which a list of an engine finds a container: its own, or that of its compose service.
const FILTERS: [(&str, &str); 2] = [("name=^", "$"), ("label=com.docker.compose.service=", "")];

/// The command that prints the status of each container with this name.
fn container_status(engine: Engine, filter: &str) -> Vec<String> {
    let words = [engine.as_str(), "ps", "--all", "--filter", filter, "--format", "{{.Status}}"];
    words.map(str::to_owned).into()
}

/// The command that prints the status of the containers with these names that run.
pub fn container_listing(engine: Engine, names: &[String]) -> Vec<String> {
    let filters = names.iter().flat_map(|name| ["--filter".to_owned(), format!("name=^{name}$")]);
    let front = [engine.as_str(), "ps"].map(str::to_owned).into_iter();
    front.chain(filters).chain(["--format", "{{.Status}}"].map(str::to_owned)).collect()
}

/// Checks the containers of a service. Each of the names may be that of a container or of a compose service. All that
/// exist must run; a name that no container has counts only if none has any.
pub async fn look(engine: Engine, names: &[String], way: &Way, limit: Duration) -> Looked {
    let mut found: Option<Finding> = None;
    for name in names {
        let Some(mut finding) = of_name(engine, name, way, limit).await? else { continue };
        if names.len() > 1 {
            finding.detail = format!("{name}: {}", finding.detail);
        }
        if found.as_ref().is_none_or(|before| before.state == State::Healthy) {
            found = Some(finding);
        }
    }
    let missing = if names.len() > 1 {
        "there is no such container under any of the names"
    } else {
        "there is no such container"
    };
    found.ok_or_else(|| Finding::new(State::Missing, missing))
}

/// The container with this name, else the containers of the compose service with this name.
async fn of_name(engine: Engine, name: &str, way: &Way, limit: Duration) -> Result<Option<Finding>, Finding> {
    for (front, back) in FILTERS {
        let words = container_status(engine, &format!("{front}{name}{back}"));
        let said = ask(&words, Rights::Root, way, limit).await?;
        if !said.success {
            let is_down = said.stderr.contains(DAEMON_DOWN);
            return Err(if is_down {
                said.failure(State::Failed, engine.as_str())
            } else {
                without_state(&said, &words, way)
            });
        }
        // Of several containers of a compose service, an unhealthy one decides.
        if let Some(worst) = said.worst(read) {
            return Ok(Some(worst));
        }
    }
    Ok(None)
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
