//! The clients that opsctl serves: Claude Code, and those that `clients.yaml` describes in its words.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;

/// A client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Client {
    /// Claude Code. What is said of a client without its name is said of this one.
    #[default]
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
}

/// The clients besides Claude Code.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clients {
    codex: Description,
    gemini: Description,
}

/// What is known of a client besides Claude Code.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Keys that all inputs of its hooks have.
    pub keys: Vec<String>,
    /// Its events, each with the event of Claude Code that it is.
    pub events: BTreeMap<String, String>,
    /// Its tools.
    pub tools: BTreeMap<String, Tool>,
    /// The rendered hooks: the event, the argument of `opsctl hook`, and the timeout in seconds.
    pub hooks: Vec<(String, String, u32)>,
}

/// Which arguments of a tool are what, by their names.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tool {
    /// The shell command.
    pub command: Option<String>,
    /// The folder of the shell command, where it is not the one of the session.
    pub folder: Option<String>,
    /// Words that the shell command may not contain.
    pub refuses: Vec<String>,
    /// The file that is written.
    pub writes: Option<String>,
    /// The file that is read.
    pub reads: Option<String>,
    /// The folder that is searched.
    pub search: Option<String>,
    /// The files in it that are searched.
    pub glob: Option<String>,
    /// The patch.
    pub patch: Option<String>,
}

impl Client {
    /// The clients besides Claude Code.
    pub const OTHERS: [Self; 2] = [Self::Codex, Self::Gemini];

    /// What is known of it; `None` for Claude Code.
    ///
    /// # Errors
    /// If the built-in file is broken, which a test rules out.
    pub fn description(self) -> io::Result<Option<Description>> {
        if self == Self::ClaudeCode {
            return Ok(None);
        }
        let Clients { codex, gemini } =
            serde_saphyr::from_str(include_str!("clients.yaml")).map_err(io::Error::other)?;
        Ok(Some(if self == Self::Codex { codex } else { gemini }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_descriptions_can_be_read() {
        for client in Client::OTHERS {
            let description = client.description().unwrap().unwrap();
            for (event, ..) in description.hooks {
                assert!(event.starts_with("Session") || description.events.contains_key(&event), "{event}");
            }
        }
    }
}
