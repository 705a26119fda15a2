//! Questions to a person: a call that the policy asks about instead of denying it, and the signed answers.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

opsctl_reader::words! {
    /// The state of a question.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum QuestionState {
        /// It has no answer, and its time has not passed.
        #[default]
        Open = "open",
        /// Approved; the call has not been made again.
        Approved = "approved",
        /// Refused by a person.
        Refused = "refused",
        /// Its time passed without an answer, or the time of its approval passed without the call.
        Expired = "expired",
        /// The approval was used: the call was allowed, once.
        Used = "used",
    }
}

/// A question before it is stored. Its texts contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewQuestion {
    /// The call that it is about.
    pub call: AskedCall,
    /// Why the call would be denied.
    pub reasons: Vec<String>,
    /// The tier of the session.
    pub tier: Option<u8>,
    /// The agent's last words before the call.
    pub words: Option<String>,
    /// When it is asked.
    pub asked_at: DateTime<Utc>,
    /// When it expires.
    pub expires_at: DateTime<Utc>,
    /// Whether the client asks the person at the terminal. Other persons cannot answer it.
    pub at_terminal: bool,
}

/// What a question is about: the call, and what the person is shown of it. An answer is signed over all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedCall {
    /// The session that makes the call.
    pub session: String,
    /// The client's id of the call, which stays the same when the session is resumed.
    pub call: String,
    /// SHA-256 of the exact call, in hexadecimal.
    pub digest: String,
    /// The command as it was read, or the tool and its file; without secrets.
    pub command: String,
    /// The actions, as text, one each.
    pub actions: Vec<String>,
    /// The service that is affected, if there is one.
    pub service: Option<String>,
}

/// A stored question. Its texts contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Question {
    /// Its number, unique within the ledger.
    pub id: i64,
    /// The session that waits for the answer.
    pub session: String,
    /// The agent; `None` if it is not known.
    pub agent: Option<String>,
    /// The client's id of the call, which stays the same when the session is resumed.
    pub call: String,
    /// The command as it was read, or the tool and its file.
    pub command: String,
    /// SHA-256 of the exact call, in hexadecimal.
    #[serde(skip)]
    pub digest: String,
    /// The actions, as text, one each.
    pub actions: Vec<String>,
    /// The service that is affected, if there is one.
    pub service: Option<String>,
    /// Why the call would be denied.
    pub reasons: Vec<String>,
    /// The tier of the session.
    pub tier: Option<u8>,
    /// The agent's last words before the call.
    pub words: Option<String>,
    /// When it was asked.
    pub asked_at: DateTime<Utc>,
    /// When it expires.
    pub expires_at: DateTime<Utc>,
    /// Its state.
    pub state: QuestionState,
    /// Whether the client asks the person at the terminal. Other persons cannot answer it.
    pub at_terminal: bool,
    /// Who answered.
    pub answered_by: Option<String>,
    /// When.
    pub answered_at: Option<DateTime<Utc>>,
    /// The note of the answer.
    pub note: Option<String>,
}

impl Question {
    /// The call that it is about, as it was stored.
    pub fn asked_call(&self) -> AskedCall {
        AskedCall {
            session: self.session.clone(),
            call: self.call.clone(),
            digest: self.digest.clone(),
            command: self.command.clone(),
            actions: self.actions.clone(),
            service: self.service.clone(),
        }
    }

    /// An open question, of 2026-03-21, as an example.
    pub fn example() -> Self {
        Self {
            id: 7,
            session: "s".into(),
            call: "c".into(),
            command: "docker restart jellyfin".into(),
            digest: "d".into(),
            asked_at: DateTime::UNIX_EPOCH + TimeDelta::seconds(1_774_103_400),
            expires_at: DateTime::UNIX_EPOCH + TimeDelta::seconds(1_774_105_200),
            ..Self::default()
        }
    }
}

opsctl_reader::words! {
    /// The decision of a person.
    pub enum Answer {
        /// The call may run, once.
        Approve = "approve",
        /// The call stays denied.
        Refuse = "refuse",
    }
}

/// A signed answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedAnswer {
    /// The number of the question.
    pub question: i64,
    /// The decision.
    pub answer: Answer,
    /// Who answered.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Until when an approval can be used.
    pub expires_at: DateTime<Utc>,
    /// A note to the agent.
    pub note: Option<String>,
    /// The Ed25519 signature, in base64.
    pub signature: String,
}

/// A budget that a person has given in advance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// Its number, unique within the ledger.
    pub id: i64,
    /// The service.
    pub service: String,
    /// `restart` or `redeployment`.
    pub kind: String,
    /// How many actions it allows beyond the budget.
    pub count: u32,
    /// How many of them are used.
    pub used: u32,
    /// Who gave it.
    pub by: String,
    /// When.
    #[serde(rename = "granted_at")]
    pub at: DateTime<Utc>,
    /// When it expires.
    pub expires_at: DateTime<Utc>,
    /// A note.
    pub note: Option<String>,
    /// The Ed25519 signature, in base64.
    #[serde(skip)]
    pub signature: String,
}

impl Grant {
    /// How many actions it still allows.
    pub const fn left(&self) -> u32 {
        self.count.saturating_sub(self.used)
    }
}
