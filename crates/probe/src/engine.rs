//! Runs a container engine for a short question, on this machine or through ssh.

use std::time::Duration;

use tokio::time::timeout;

use super::health::programs::run_through;
use super::runtime;

pub use super::health::programs::Said;

/// The configuration of the agent's user is ignored, because the command may change it before it starts the engine.
const OWN_CONFIGURATION: [(&str, &str); 3] =
    [("DOCKER_CONTEXT", "default"), ("CONTAINERS_CONF", "/dev/null"), ("NERDCTL_TOML", "/dev/null")];

/// Why an engine gave no answer.
#[derive(Debug)]
pub enum EngineError {
    /// It took longer than the limit.
    Timeout,
    /// It could not be started or reached, with the reason.
    Failed(String),
}

/// Runs a program for at most `limit`, on this machine or through an ssh program on a destination.
pub fn ask(words: &[&str], ssh: Option<(&str, &str)>, limit: Duration) -> Result<Said, EngineError> {
    let asked = async { timeout(limit, run_through(words, ssh, &OWN_CONFIGURATION)).await };
    let answer = runtime::run(asked).map_err(|error| EngineError::Failed(error.to_string()))?;
    answer.map_err(|_| EngineError::Timeout)?.map_err(|not_run| EngineError::Failed(not_run.detail))
}
