//! Calls of hooks, reduced to the cases that opsctl handles, and event rows.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

opsctl_reader::words! {
    /// How serious an event row is, as Claude Ops defines it.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Level {
        /// Routine: a pull request was created, a notification was sent.
        Info = "info",
        /// A remediation was carried out.
        Warning = "warning",
        /// A remediation failed, or an operator has to act.
        Critical = "critical",
    }
}

/// An event row to be inserted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewEvent {
    /// How serious it is.
    pub level: Level,
    /// The service; `None` if it concerns none or the service cannot be determined.
    pub service: Option<String>,
    /// One line, built from parsed values only: no secret of a command line reaches the database.
    pub message: String,
}

/// The session of one call of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookCall {
    /// The session's id; `CLAUDE_SESSION_ID` takes precedence over the input.
    pub session: Option<String>,
    /// The client's own session id, if it differs from `session`.
    pub client_session: Option<String>,
    /// The session's working directory.
    pub cwd: Option<PathBuf>,
    /// The client's transcript of the session.
    pub transcript: Option<PathBuf>,
}

/// The client's hook events, as of release 2.1.330, in kebab case: the arguments of `opsctl hook`, the most frequent first.
/// Events of later releases, and those without a handler, are allowed.
pub use crate::lists::EVENTS;

/// A further argument of `opsctl hook`: records session state from any event, in a hook that the client does not wait
/// for.
pub const SESSION_STATE: &str = "session-state";

/// The client's name of an event: `pre-tool-use` → `PreToolUse`.
pub fn event_name(kebab: &str) -> String {
    let capitalised = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>())
    };
    kebab.split('-').filter_map(capitalised).collect()
}

/// How a session starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionStart {
    /// `startup`, `resume`, `clear` or `compact`.
    pub source: Option<String>,
    /// The model, if the client names it.
    pub model: Option<String>,
}

/// An agent that the session's main agent has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subagent {
    /// The client's id of the subagent.
    pub id: String,
    /// Its type, e.g. `general-purpose`.
    pub kind: Option<String>,
}

/// A tool call: the parts that opsctl judges. All are empty for a tool that it does not judge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The client's id of the call, which links the events before and after it.
    pub id: Option<String>,
    /// The shell command, for every tool whose input has one, with any name.
    pub command: Option<String>,
    /// The files that the tool reads or writes without a shell.
    pub files: Vec<ToolFile>,
    /// The MCP tool and its arguments.
    pub mcp: Option<McpCall>,
    /// Why it is denied, if the client carries it out in a way that its input does not state.
    pub unchecked: Option<String>,
}

impl ToolCall {
    /// Whether it is of a tool that opsctl judges.
    pub const fn is_judged(&self) -> bool {
        self.command.is_some() || !self.files.is_empty() || self.mcp.is_some() || self.unchecked.is_some()
    }

    /// `write PATH` or `read PATH`, for each file; `None` without one.
    pub fn files_in_words(&self) -> Option<String> {
        let words = |file: &ToolFile| format!("{} {}", if file.writes { "write" } else { "read" }, file.path);
        let files: Vec<String> = self.files.iter().map(words).collect();
        (!files.is_empty()).then(|| files.join(", "))
    }
}

/// A call of an MCP tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct McpCall {
    /// The client's name of the tool: `mcp__SERVER__TOOL`.
    pub tool: String,
    /// The arguments that are strings or numbers, by JSON pointer; at most 256.
    pub arguments: Vec<(String, String)>,
    /// The other arguments, which name nothing: truth values, `null`, and what is empty.
    pub others: Vec<(String, String)>,
    /// Whether these are all arguments.
    pub is_whole: bool,
}

/// A file that a tool of the client opens without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFile {
    /// The path, as given to the tool.
    pub path: String,
    /// Whether the tool writes it; otherwise it only reads.
    pub writes: bool,
    /// The search that shows parts of all files that it finds.
    pub search: Option<Search>,
}

/// A search of a tool of the client in all files below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The folder.
    pub folder: String,
    /// The glob of their names, with or without folders.
    pub names: String,
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolResult {
    /// The tool reported success.
    Succeeded,
    /// The command failed or was interrupted; the text contains no output of the command.
    Failed(String),
}
