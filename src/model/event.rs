//! What the client tells a hook, reduced to the cases that matter.

use std::path::PathBuf;

/// How serious an event row is, as Claude Ops defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Routine: a pull request was created, a notification was sent.
    Info,
    /// A remediation was carried out.
    Warning,
    /// A remediation failed, or a person is needed.
    Critical,
}

impl Level {
    /// The name stored in the `events` table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }

    /// The level of this name; `None` for one that this program does not write.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Info, Self::Warning, Self::Critical].into_iter().find(|level| level.as_str() == name)
    }
}

/// An event to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// How serious it is.
    pub level: Level,
    /// The service; `None` when it concerns none or cannot be told.
    pub service: Option<String>,
    /// One line, built from parsed values only: no secret of a command line reaches the database.
    pub message: String,
}

/// One call of a hook: what happened, in which session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// The session's id; `CLAUDE_SESSION_ID` wins over what stdin says.
    pub session: Option<String>,
    /// The client's own id of the session, where that is another one.
    pub client_session: Option<String>,
    /// The session's working directory.
    pub cwd: Option<PathBuf>,
    /// The client's record of the session.
    pub transcript: Option<PathBuf>,
    /// What happened.
    pub event: HookEvent,
}

/// The client's names of its lifecycle points, as of release 2.1.330. One of a later release passes, too.
pub const EVENT_NAMES: [&str; 33] = [
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "PermissionRequest",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

/// The lifecycle points that have a handler. Every other one is `Other` and passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEvent {
    /// A session begins; what is printed becomes context.
    SessionStart(Beginning),
    /// A prompt is about to be read by the model; what is printed becomes context.
    UserPromptSubmit {
        /// The whole of it.
        prompt: String,
    },
    /// A tool is about to run; this is where it can be stopped.
    PreToolUse(ToolCall),
    /// A tool has run, successfully or not.
    PostToolUse(ToolCall, ToolResult),
    /// A tool is about to run, told apart from the decision on it: nobody waits for this.
    ToolBegins {
        /// The client's id of the call.
        call: String,
        /// The subagent that makes it; `None` for the session's own agent.
        agent: Option<String>,
    },
    /// All tools of one message have run or been refused, and the model is about to see the results.
    PostToolBatch {
        /// The client's ids of the calls.
        calls: Vec<String>,
        /// The subagent that made them; `None` for the session's own agent.
        agent: Option<String>,
    },
    /// A subagent begins.
    SubagentStart(Subagent),
    /// A subagent is done.
    SubagentStop(Subagent),
    /// The agent considers itself done.
    Stop {
        /// A Stop hook has sent it on before.
        again: bool,
        /// The last that it said.
        words: String,
    },
    /// The session is over.
    SessionEnd {
        /// The client's word for it, e.g. `clear` or `other`.
        reason: Option<String>,
    },
    /// The turn ended because the model could not be asked.
    StopFailure {
        /// The client's word for it, e.g. `rate_limit` or `authentication_failed`.
        error: Option<String>,
        /// What the client said about it.
        message: Option<String>,
    },
    /// The client wants a person's attention.
    Notification {
        /// One line; the client may leave it out.
        title: Option<String>,
        /// The text.
        message: String,
    },
    /// An event without a handler, by the client's name.
    Other(String),
}

/// How a session begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beginning {
    /// `startup`, `resume`, `clear` or `compact`.
    pub source: Option<String>,
    /// The model, where the client says so.
    pub model: Option<String>,
}

/// An agent that the session's own agent has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subagent {
    /// The client's id of it.
    pub id: String,
    /// The client's word for its kind, e.g. `general-purpose`.
    pub kind: Option<String>,
}

/// A tool call as far as the guard is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The client's id of the call: the link between the event before and the event after.
    pub id: Option<String>,
    /// The shell text, for every tool whose input carries one, whatever the tool is called.
    pub command: Option<String>,
    /// The file that the tool itself reads or writes.
    pub file: Option<ToolFile>,
    /// The tool of an MCP server, and what it was given.
    pub mcp: Option<McpCall>,
}

/// A call of a tool that an MCP server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpCall {
    /// The client's name of it: `mcp__SERVER__TOOL`.
    pub tool: String,
    /// Its arguments that are texts or numbers, by JSON pointer.
    pub arguments: Vec<(String, String)>,
}

/// A file that a tool of the client opens without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFile {
    /// As the tool was given it.
    pub path: String,
    /// False where it is only looked at.
    pub writes: bool,
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolResult {
    /// The tool reported success.
    Succeeded,
    /// The command failed or was interrupted; the words hold no output of the command.
    Failed(String),
}
