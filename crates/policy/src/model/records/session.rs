//! The client's sessions, as the ledger stores them.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::event::{SessionStart, Subagent};

/// The longest session id that is stored, in characters.
const ID_CHARS: usize = 200;

/// An id as it is stored and shown: no control characters, at most 200 characters.
pub fn plain_id(id: &str) -> String {
    id.chars().filter(|c| !c.is_control()).take(ID_CHARS).collect()
}

opsctl_reader::words! {
    /// The state of a session.
    #[derive(Default)]
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum State {
        /// The model is working.
        #[default]
        Active = "active",
        /// A tool is running.
        ToolActive = "tool_active",
        /// The agent has ended its turn and waits for a prompt.
        Idle = "idle",
        /// It has ended.
        Ended = "ended",
    }
}

/// Activity of a session, as a hook reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity<'a> {
    /// The session started or was resumed.
    Started(&'a SessionStart),
    /// A prompt was submitted.
    PromptSubmitted,
    /// A tool is about to run.
    ToolStarted {
        /// The client's id of the call.
        call: &'a str,
        /// The subagent that makes it; `None` for the session's main agent.
        agent: Option<&'a str>,
    },
    /// Tools have run or were denied.
    ToolsFinished {
        /// The client's ids of the calls.
        calls: &'a [String],
        /// The subagent that made them; `None` for the session's main agent.
        agent: Option<&'a str>,
    },
    /// A subagent started.
    SubagentStarted(&'a Subagent),
    /// A subagent finished.
    SubagentStopped(&'a Subagent),
    /// The agent ended its turn.
    Stopped,
    /// The agent wanted to end its turn, and a hook blocked it.
    StopBlocked,
    /// The session ended.
    Ended {
        /// The client's reason.
        reason: Option<&'a str>,
    },
}

impl Activity<'_> {
    /// Whether the client does not wait for the hook that reports it: it may then be recorded after later activity.
    pub const fn is_async(&self) -> bool {
        matches!(self, Self::ToolStarted { .. } | Self::SubagentStarted(_) | Self::SubagentStopped(_))
    }
}

/// The times that a session's state follows from, in microseconds since 1970; 0 for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActivityTimes {
    /// When the model was last known to be working.
    pub active: i64,
    /// When the agent last ended its turn.
    pub idle: i64,
    /// When the session last ended.
    pub ended: i64,
    /// Whether a tool call has started whose end was not reported.
    pub tool_running: bool,
}

/// What decides whether a session is reminded to set a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusReminder {
    /// Whether it has a status.
    pub has_status: bool,
    /// When it was last reminded, or started.
    pub at: Option<DateTime<Utc>>,
}

/// Whether the client's process still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// It runs.
    Running,
    /// It is gone.
    Gone,
    /// It ran on another machine or in another container, or is not known.
    Unknown,
}

/// An agent that a session has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubagentRow {
    /// The client's id of the subagent.
    #[serde(rename = "agent_id")]
    pub id: String,
    /// Its type.
    #[serde(rename = "agent_type")]
    pub kind: Option<String>,
    /// When it started.
    #[serde(rename = "started_at")]
    pub started: Option<DateTime<Utc>>,
    /// When it finished; `None` while it runs.
    #[serde(rename = "ended_at")]
    pub ended: Option<DateTime<Utc>>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Session {
    /// Its id: `CLAUDE_SESSION_ID`, else the client's session id.
    pub id: String,
    /// The client's session id, if it differs from `id`.
    pub client_id: Option<String>,
    /// The agent; `None` if it is not known.
    pub agent: Option<String>,
    /// Its tier.
    pub tier: Option<u8>,
    /// `interactive`, `mission` or `background`.
    pub mode: Option<String>,
    /// `CLAUDE_SESSION_ROLE`.
    pub role: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How it last started: `startup`, `resume`, `clear` or `compact`.
    pub source: Option<String>,
    /// The working directory at its first start.
    pub cwd: Option<String>,
    /// The client's transcript.
    pub transcript: Option<String>,
    /// `MISSION_EXECUTION_ID`: the mission that it belongs to.
    pub parent_mission: Option<String>,
    /// `TMUX_PANE`: the tmux pane in which it runs.
    pub tmux_pane: Option<String>,
    /// The client's process, as `client_process` names it.
    #[serde(skip)]
    pub process: Option<String>,
    /// When it first started.
    #[serde(rename = "started_at")]
    pub started: Option<DateTime<Utc>>,
    /// Its last activity.
    #[serde(rename = "last_seen_at")]
    pub last_seen: Option<DateTime<Utc>>,
    /// When it ended.
    #[serde(rename = "ended_at")]
    pub ended: Option<DateTime<Utc>>,
    /// The client's reason for the end.
    pub end_reason: Option<String>,
    /// Its state, as its hooks last reported it.
    pub state: State,
    /// Its status text.
    pub status: Option<String>,
    /// When the status was set.
    pub status_at: Option<DateTime<Utc>>,
    /// Its subagents.
    pub subagents: Vec<SubagentRow>,
    /// Its cost in US dollars, if `opsctl session` started it.
    pub cost_usd: Option<f64>,
    /// The chain of hand-overs that it belongs to, if any.
    pub chain: Option<Chain>,
}

/// The place of a session in a chain of hand-overs, and the chain's cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chain {
    /// The id of the session that handed over to this one; `None` for the first one.
    #[serde(rename = "parent_session")]
    pub parent: Option<String>,
    /// The place of this session, from 1.
    pub place: u32,
    /// The number of sessions of the chain, at least 2.
    pub sessions: u32,
    /// The cost of all its sessions in US dollars, as estimated by the client.
    pub cost_usd: Option<f64>,
}
