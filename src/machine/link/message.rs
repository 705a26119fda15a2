//! The messages, as JSON. A message of another [`super::VERSION`] is refused before it is read further.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lookup::Lookup;
use opsctl_ledger::sessions::client_runs::{NewRun, RunEnd};
use opsctl_policy::model::records::event::NewEvent;

/// The first message of the guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// [`super::VERSION`] of the guard.
    pub version: u32,
    /// The release of the guard.
    pub opsctl: String,
    /// Why it does not serve this user; `None` if it does.
    #[serde(default)]
    pub refused: Option<String>,
}

/// The part of a request that every version has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Versioned {
    /// [`super::VERSION`] of the caller.
    pub version: u32,
}

/// A request. A frame with its payload follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// [`super::VERSION`] of the caller.
    pub version: u32,
    /// What is wanted.
    pub call: Call,
    /// The session of the caller.
    pub session: SessionFacts,
}

/// What a caller wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Whether the ledger of the guard is complete, and can be read and written, for `opsctl doctor`. The answer is the list of
    /// names that several agents share.
    Ping,
    /// The checks of hosts and services, as the guard can make them, for `opsctl doctor`. The answer is a list of
    /// `guard::looks::survey::Look`.
    Survey,
    /// A hook. The payload is its input.
    Event {
        /// The event in kebab case; `None` if the input states it.
        event: Option<String>,
    },
    /// Lines of the file of kept messages, as the payload.
    Kept,
    /// A notice to the operators, as JSON in the payload.
    Notice,
    /// What a tool call would do, and the verdict on it. The payload is the command, or the call as the client's JSON; the answer
    /// is a `Preview`.
    Explain {
        /// The working directory of the command.
        cwd: Option<String>,
        /// The tier to explain for; that of the session without one.
        tier: Option<u8>,
    },
    /// A verb.
    Verb {
        /// The arguments, without the name of the program.
        arguments: Vec<String>,
        /// The width of the terminal in characters.
        columns: Option<u16>,
    },
    /// A record of `opsctl session` or `opsctl handoff`.
    Record(RecordCall),
    /// A call of ssh. The payload is its arguments, each with a NUL after it. The answer is [`Reply::Runs`], after which the
    /// guard sends frames of [`super::stream`]; the caller does after [`Reply::Reads`].
    Ssh {
        /// Whether there is any input.
        has_stdin: bool,
    },
}

/// A record of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordCall {
    /// A session is about to start. The answer is the number of its row.
    Begin(NewRun),
    /// A session that waited for a person is about to go on.
    Resume {
        /// The number of its row.
        row: i64,
    },
    /// The sessions that wait for a person: the one with this id, or all whose question has been answered or has expired. The
    /// answer is a list of [`opsctl_ledger::sessions::client_runs::WaitingRun`].
    Waiting {
        /// The session.
        session: Option<String>,
    },
    /// A session has ended.
    End {
        /// The number of its row.
        row: i64,
        /// How it ended.
        end: RunEnd,
        /// Its calls that the client has refused.
        refused: Vec<String>,
    },
    /// An event.
    Event {
        /// Whether it is left out if it is among the latest events.
        once: bool,
        /// Whether the agent wrote it.
        of_agent: bool,
        /// The session.
        session: Option<String>,
        /// The event.
        event: NewEvent,
    },
    /// The session has reported.
    Reported(String),
    /// The states before what a session has done, with the commands that return to them. The answer is a list of lines.
    Before(String),
    /// Whether the verifier of a model is due, after the hook's. The answer is a Boolean.
    VerifierDue {
        /// The number of its row.
        row: i64,
    },
    /// What the verifier of a model has found. The answer is the text for the agent, or null if the session ends.
    Verified {
        /// The number of its row.
        row: i64,
        /// The tier of the session.
        tier: u8,
        /// The reason of an objection.
        objection: Option<String>,
    },
    /// The latest session of a tier. The answer is its id.
    LatestRun {
        /// The tier.
        tier: u8,
        /// The session that a hand-over states.
        stated: Option<String>,
    },
}

/// The session of a caller: what its environment and its processes state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFacts {
    /// The tier, already limited by that with which the session was started.
    pub tier: Option<u8>,
    /// Whether `CLAUDEOPS_TIER` is set to an empty text.
    pub is_tier_blank: bool,
    /// The mode.
    pub mode: Option<String>,
    /// Whether it is a dry run.
    pub dry_run: bool,
    /// The name of the agent.
    pub agent: Option<String>,
    /// The role.
    pub role: Option<String>,
    /// `CLAUDE_SESSION_ID`.
    pub session: Option<String>,
    /// `CLAUDE_CODE_SESSION_ID`.
    pub client_session: Option<String>,
    /// The project, absolute.
    pub project_dir: String,
    /// The folder for results, absolute.
    pub results_dir: String,
    /// The state folder of the agent's side, absolute.
    pub state_dir: String,
    /// Variables that nearly every reading needs; a name without a value is not set.
    pub variables: BTreeMap<String, Option<String>>,
    /// Whether the environment contains functions of the shell.
    pub has_functions: bool,
    /// The client's process.
    pub process: Option<String>,
    /// A new id of this request, which stays if it is sent again.
    pub request: Option<String>,
    /// Values of secret variables, which are removed from all texts.
    pub secrets: Vec<String>,
}

/// A message of the guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A question, which the caller answers with a [`LookupAnswer`].
    Ask(Lookup),
    /// The answer to a hook.
    Answer(AnswerWire),
    /// The output of a verb.
    Output {
        /// The exit code.
        code: u8,
        /// What it printed on stdout.
        stdout: String,
        /// What it printed on stderr.
        stderr: String,
    },
    /// The value that a record call returns; null for none.
    Value(Value),
    /// The guard reads the input of the program: the caller sends it in frames from now on.
    Reads,
    /// The program runs, and its streams follow.
    Runs {
        /// Whether a byte with [`super::pipe`] comes first, into which the caller writes the input of the program.
        pipe: bool,
    },
    /// It is not done, for this reason.
    Refused(String),
    /// The ledger of the guard cannot be used, for this reason.
    Failed(String),
}

/// The answer of the caller to a question; null where there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupAnswer {
    /// The answer.
    pub found: Value,
}

/// The answer to a hook.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerWire {
    /// Why the call is denied or blocked.
    pub denial: Option<String>,
    /// The client's JSON.
    pub json: Option<Value>,
    /// Text that becomes context of the session.
    pub context: Option<String>,
    /// Problems, for stderr.
    pub warnings: Vec<String>,
}
