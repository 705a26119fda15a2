//! The person at the terminal.

use super::failure::Failure;
use crate::machine::environment::Environment;

/// The name of the person who runs this verb: [`name`]. An agent's shell is
/// refused: only persons answer.
pub fn at_terminal(environment: &Environment) -> Result<String, Failure> {
    if environment.shell_session().is_some() {
        return Err(Failure::new(
            "this is an agent's shell, and only persons answer: run it where the guard runs",
        ));
    }
    Ok(name())
}

/// `SUDO_USER`, else the login name, else the user id.
pub fn name() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let login = ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(set);
    login.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}
