//! Runs a container engine for a short question, on this machine or through ssh.

use std::time::Duration;

use super::health::command::{Said, run_through};

/// The configuration of the agent's user is ignored, because the command may change it before it starts the engine.
const OWN_CONFIGURATION: [(&str, &str); 3] =
    [("DOCKER_CONTEXT", "default"), ("CONTAINERS_CONF", "/dev/null"), ("NERDCTL_TOML", "/dev/null")];

/// Runs a program for at most `limit`, on this machine or through an ssh program on a destination. Returns whether its exit code
/// is 0, its standard output and its standard error; otherwise, why there is no answer, as the end of a sentence.
pub fn ask(
    words: &[&str],
    ssh: Option<(&str, &str)>,
    limit: Duration,
) -> Result<(bool, String, String), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let answer = runtime
        .block_on(async { tokio::time::timeout(limit, run_through(words, ssh, &OWN_CONFIGURATION)).await });
    runtime.shutdown_background();
    match answer {
        Err(_) => Err(format!("the engine did not answer within {} s", limit.as_secs())),
        Ok(Err(finding)) => Err(format!("the engine cannot be asked ({})", finding.detail)),
        Ok(Ok(Said { success, stdout, stderr })) => Ok((success, stdout, stderr)),
    }
}
