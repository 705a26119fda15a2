//! Runs the programs that know what runs: `kubectl`, and `ssh` for the engine and the units of a host.

use std::process::{Command, Stdio};

use super::error::ImportError;

/// Options with which ssh asks no question and does not wait for a host that is down.
const SSH: [&str; 8] =
    ["-n", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ConnectionAttempts=1"];

/// The output of a program; an error if it cannot be started or fails.
pub fn output(program: &str, arguments: &[&str], source: &str) -> Result<String, ImportError> {
    let failed = |why: String| ImportError::Command {
        source_name: source.to_owned(),
        program: program.to_owned(),
        why,
    };
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let why = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
        return Err(failed(why.trim().to_owned()));
    }
    String::from_utf8(output.stdout).map_err(|_| failed("its output is not UTF-8".to_owned()))
}

/// The output of a command of a host, which the shell there reads.
pub fn on_host(destination: &str, command: &str, source: &str) -> Result<String, ImportError> {
    let arguments: Vec<&str> = SSH.into_iter().chain(["--", destination, command]).collect();
    output("ssh", &arguments, source)
}
