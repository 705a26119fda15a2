//! Runs a command with the streams of the connection.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use tokio::signal::unix::{SignalKind, signal};

use super::environment;

/// The shells that run a command, the first that exists. It is not the account's shell: the reader reads bash.
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/bin/sh"];

/// Runs a command to its end. Returns its exit code; 128 and the number of the signal that ended it.
pub fn command(text: &str, stdin: Option<File>) -> Result<u8, String> {
    let shell = SHELLS.iter().find(|shell| Path::new(shell).exists()).ok_or("this host has no shell")?;
    let mut command = Command::new(shell);
    command.args(["-c", text]).env_clear().envs(environment::variables());
    // The outermost shell of a connection would read `~/.bashrc`.
    command.env("SHLVL", "1");
    if let Some(stdin) = stdin {
        command.stdin(Stdio::from(stdin));
    }
    let ended = outliving(|| command.status()).and_then(|status| status);
    ended.map(code).map_err(|error| format!("{shell} cannot be started ({error}); the command did not run"))
}

/// Does something that signals to this process do not end: the end of the connection (`SIGHUP`) ends the command, or does not,
/// as without a gate, and the gate records how.
pub fn outliving<T>(work: impl FnOnce() -> T) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _entered = runtime.enter();
    // A signal that is handled has its default effect again in a program that is started; an ignored one would be ignored there.
    let _handled =
        [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()]
            .into_iter()
            .map(signal)
            .collect::<std::io::Result<Vec<_>>>()?;
    Ok(work())
}

/// The exit code of an ended process, as shells have it.
pub fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
