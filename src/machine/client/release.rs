//! The release of the client, and how it lets a person be asked about a call.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::client_process;
use super::clients::Client;
use crate::machine::agent_side::AgentSide;
use crate::machine::link::lookup::Lookup;
use opsctl_reader::terms::mode::Mode;

/// The first release that was seen to end a session at a deferred call, and to make the call again when it is resumed.
const KNOWS_DEFER: [u32; 3] = [2, 1, 295];

/// How the client lets a person be asked about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asking {
    /// It defers the call: the session ends, and continues with the call when it is resumed.
    Defers,
    /// It asks the person at the terminal.
    AtTerminal,
    /// It would defer the call of a subagent, and the subagent would end without it: the call is denied.
    Subagent,
    /// No person can be asked: the call is denied.
    Cannot,
}

/// How the client that called this hook lets a person be asked. A client that is not known may run a deferred call, so
/// nothing is asked then.
pub fn asking(mode: Option<Mode>, agent: &AgentSide) -> Asking {
    let lookup = || Lookup::Asking(mode.map(|mode| mode.as_str().to_owned()));
    agent.find(lookup, || Some(asking_here(mode))).unwrap_or(Asking::Cannot)
}

fn asking_here(mode: Option<Mode>) -> Asking {
    let Some(client) = client_process::calling_client() else { return Asking::Cannot };
    if !client.is_headless() {
        // Without a person at the terminal, the client would wait for ever.
        return if mode == Some(Mode::Interactive) { Asking::AtTerminal } else { Asking::Cannot };
    }
    let knows_defer = version(&client.program()).is_ok_and(|version| is_at_least(&version, KNOWS_DEFER));
    if knows_defer { Asking::Defers } else { Asking::Cannot }
}

/// The release of the client, such as `2.1.330`. Starts the client with a temporary home folder.
pub fn version(client: &Path) -> io::Result<String> {
    identified(client).map(|(_, version)| version)
}

/// Which client a program is, and its release. Starts it with a temporary home folder.
pub fn identified(client: &Path) -> io::Result<(Client, String)> {
    let home = TempDir::new()?;
    let output = Command::new(client)
        .arg("--version")
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("DISABLE_AUTOUPDATER", "1")
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_named = |name: &str| client.file_name().is_some_and(|file| file.to_string_lossy().contains(name));
    match words.as_slice() {
        ["codex-cli", version, ..] if output.status.success() => Ok((Client::Codex, (*version).to_owned())),
        [version] if output.status.success() && is_named("gemini") => {
            Ok((Client::Gemini, (*version).to_owned()))
        }
        [version, ..] if output.status.success() => Ok((Client::ClaudeCode, (*version).to_owned())),
        _ => Err(io::Error::other(format!("`--version` ended with {}", output.status))),
    }
}

/// Whether a release is this one or a later one. An invalid version is not.
pub fn is_at_least(version: &str, first: [u32; 3]) -> bool {
    let numbers: Option<Vec<u32>> = version.split('.').map(|number| number.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.as_slice() >= first.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_releases_by_number() {
        for (version, is_later) in
            [("2.1.290", false), ("2.1.295", true), ("2.1.1000", true), ("2.2.0", true), ("1.9.999", false)]
        {
            assert_eq!(is_at_least(version, [2, 1, 295]), is_later, "{version}");
        }
        assert!(!is_at_least("nightly", [2, 1, 295]));
    }
}
