//! Credentials of the client. They reach it through a pipe: its environment, which its commands inherit and can print, holds
//! none.

use std::io::{self, PipeReader};
use std::os::fd::AsRawFd as _;

use opsctl_machine::held_variables::inherited_pipe;

/// Variables with credentials, and those that name a file descriptor with the same content.
const VARIABLES: [(&str, &str); 2] = [
    ("ANTHROPIC_API_KEY", "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR"),
];

/// A credential in a pipe, which processes inherit that are started while this exists.
#[derive(Debug)]
pub struct Credential {
    /// The variable that must not be in the environment of the client.
    pub variable: &'static str,
    /// The variable that names the file descriptor.
    pub descriptor: &'static str,
    pipe: PipeReader,
}

impl Credential {
    /// The number of the file descriptor.
    pub fn number(&self) -> String {
        self.pipe.as_raw_fd().to_string()
    }
}

/// The credentials of the environment that `get` returns.
pub fn of(get: impl Fn(&str) -> Option<String>) -> io::Result<Vec<Credential>> {
    let set = |name: &str| get(name).filter(|value| !value.is_empty());
    let found = VARIABLES.into_iter().filter_map(|(name, descriptor)| Some((name, descriptor, set(name)?)));
    found
        .map(|(variable, descriptor, value)| {
            inherited_pipe(&value).map(|pipe| Credential { variable, descriptor, pipe })
        })
        .collect()
}
