//! The client's sessions as the registry keeps them.

use chrono::{DateTime, Utc};

use super::event::{Beginning, Subagent};

/// The longest id of a session, in characters.
const ID_CHARS: usize = 200;

/// An id as it is stored and shown: no control characters, and not without end.
pub fn plain_id(id: &str) -> String {
    id.chars().filter(|c| !c.is_control()).take(ID_CHARS).collect()
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// The model is at work.
    #[default]
    Active,
    /// A tool runs.
    ToolActive,
    /// The agent has said its last word and waits for a prompt.
    Idle,
    /// It is over.
    Ended,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Active, Self::ToolActive, Self::Idle, Self::Ended];

    /// The word for it in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::ToolActive => "tool_active",
            Self::Idle => "idle",
            Self::Ended => "ended",
        }
    }

    /// The state of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// What a hook has learned of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign<'a> {
    /// It begins, for the first time or again.
    Begins(&'a Beginning),
    /// It was given a prompt.
    Prompted,
    /// A tool is about to run.
    ToolBegins {
        /// The client's id of the call.
        call: &'a str,
        /// The subagent that makes it.
        agent: Option<&'a str>,
    },
    /// Tools have run or were refused.
    ToolsDone {
        /// The client's ids of the calls.
        calls: &'a [String],
        /// The subagent that made them.
        agent: Option<&'a str>,
    },
    /// A subagent begins.
    SubagentBegins(&'a Subagent),
    /// A subagent is done.
    SubagentEnds(&'a Subagent),
    /// The agent considers itself done.
    Stops,
    /// The agent considered itself done, and was sent on.
    SentOn,
    /// It is over.
    Ends {
        /// The client's word for why.
        reason: Option<&'a str>,
    },
}

impl Sign<'_> {
    /// Whether the client goes on without waiting for the hook that tells of it: then it may be written after signs of
    /// later moments.
    pub const fn may_be_late(&self) -> bool {
        matches!(self, Self::ToolBegins { .. } | Self::SubagentBegins(_) | Self::SubagentEnds(_))
    }
}

/// What a state follows from: moments in microseconds since 1970, 0 for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signs {
    /// When the model was last known to be at work.
    pub awake: i64,
    /// When the agent last considered itself done.
    pub idle: i64,
    /// When the session last ended.
    pub over: i64,
    /// Whether a tool call has begun of which nothing says that it is done.
    pub tool_runs: bool,
}

/// When a session was last reminded of its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reminded {
    /// Whether it has a status.
    pub has_status: bool,
    /// When it was reminded, or began.
    pub at: Option<DateTime<Utc>>,
}

/// Whether the client's process is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It runs.
    Runs,
    /// It is gone.
    Gone,
    /// It ran on another machine, in another container, or is not known.
    Unknown,
}

/// An agent that a session has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentRow {
    /// The client's id of it.
    pub id: String,
    /// Its kind.
    pub kind: Option<String>,
    /// When it began.
    pub started: Option<DateTime<Utc>>,
    /// When it was done; `None` while it runs.
    pub ended: Option<DateTime<Utc>>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Session {
    /// Its id: `CLAUDE_SESSION_ID`, else the client's own.
    pub id: String,
    /// The client's own id, where that is another one.
    pub client_id: Option<String>,
    /// Its tier.
    pub tier: Option<u8>,
    /// `interactive`, `mission` or `background`.
    pub mode: Option<String>,
    /// `CLAUDE_SESSION_ROLE`.
    pub role: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How it began last: `startup`, `resume`, `clear` or `compact`.
    pub source: Option<String>,
    /// The folder in which it began.
    pub cwd: Option<String>,
    /// The client's record of it.
    pub transcript: Option<String>,
    /// `MISSION_EXECUTION_ID`: what it is a part of.
    pub parent_mission: Option<String>,
    /// The client's process, as [`crate::runtime::client_process`] names it.
    pub process: Option<String>,
    /// When it began for the first time.
    pub started: Option<DateTime<Utc>>,
    /// The last sign of it.
    pub last_seen: Option<DateTime<Utc>>,
    /// When it ended.
    pub ended: Option<DateTime<Utc>>,
    /// The client's word for why.
    pub end_reason: Option<String>,
    /// What it was doing, as far as its hooks have told.
    pub state: State,
    /// What it works on, in its own words, and since when.
    pub status: Option<(String, Option<DateTime<Utc>>)>,
    /// The agents that it has started.
    pub subagents: Vec<SubagentRow>,
    /// What it has cost in US dollars, where it was started by `opsctl session`.
    pub cost_usd: Option<f64>,
}
