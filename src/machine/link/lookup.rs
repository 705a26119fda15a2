//! Questions of the guard about the agent's machine: its environment, its files, its container engines.

use serde::{Deserialize, Serialize};

/// A question. The answer is a JSON value, whose form the place that asks states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lookup {
    /// The value of a variable of the hook's environment.
    Variable(String),
    /// The body of a function in the hook's environment.
    Function(String),
    /// The text of a script.
    Script(String),
    /// The lines of an environment file that set variables of compose.
    ComposeVariables(String),
    /// The entries of a folder.
    Folder(String),
    /// A path with its links resolved.
    Canonical(String),
    /// The files that a glob matches.
    Expand(String),
    /// The files below a folder; `deep` includes those of its subfolders.
    Below {
        /// The folder.
        folder: String,
        /// Whether subfolders are included.
        deep: bool,
    },
    /// Whether there is a folder.
    IsFolder(String),
    /// The name of the machine.
    HostName,
    /// A container, asked of an engine's own program.
    Container {
        /// The program: `docker`, `podman` or `nerdctl`.
        program: String,
        /// Whether it runs with `sudo`.
        sudo: bool,
        /// The ssh destination; `None` for the agent's machine.
        destination: Option<String>,
        /// The beginning of the ID.
        id: String,
    },
    /// The model of the last answer in a transcript.
    LastModel(String),
    /// The last words of the agent before a call.
    LastWords {
        /// The transcript.
        transcript: String,
        /// The client's id of the call.
        call: String,
    },
    /// How the client lets a person be asked in a session of this mode.
    Asking(Option<String>),
    /// The calls of a transcript that the client has refused.
    Refused(String),
    /// The API error at the end of a transcript.
    LastError(String),
    /// The tokens that a session uses, as soon as its transcript states them.
    Tokens {
        /// The transcript.
        transcript: String,
        /// What the transcript must contain.
        awaited: Awaited,
        /// The context windows of models in tokens.
        windows: Vec<(String, u32)>,
        /// Whether a transcript that does not exist is waited for.
        may_come: bool,
    },
    /// The client's name of a model in a transcript.
    ClientModel {
        /// The transcript.
        transcript: String,
        /// The name of the model in the API.
        model: String,
    },
    /// The context files and the repositories of a session.
    SessionFiles {
        /// The tier of the session.
        tier: Option<u8>,
        /// The role of the session.
        role: Option<String>,
    },
}

/// What a transcript must contain to be up to date. The client writes it slightly later than it calls hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awaited {
    /// Any content.
    Nothing,
    /// The tool call with this id.
    Call(String),
    /// This answer to the agent's last input.
    Answer(String),
}
