//! Questions to a person: a call that the policy asks about instead of denying it.

use chrono::{DateTime, Utc};

/// The state of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionState {
    /// Nobody has answered, and its time has not passed.
    Open,
    /// Approved; the call has not been made again.
    Approved,
    /// Refused by a person.
    Refused,
    /// Its time passed without an answer.
    Expired,
    /// The approval was used: the call was allowed, once.
    Used,
}

impl QuestionState {
    /// All states.
    pub const ALL: [Self; 5] = [Self::Open, Self::Approved, Self::Refused, Self::Expired, Self::Used];

    /// The stored and displayed name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Refused => "refused",
            Self::Expired => "expired",
            Self::Used => "used",
        }
    }
}

/// A stored question. Its texts contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its number, unique within the ledger.
    pub id: i64,
    /// The session that waits for the answer.
    pub session: String,
    /// The client's id of the call, which stays the same when the session is resumed.
    pub call: String,
    /// The command as it was read, or the tool and its file.
    pub command: String,
    /// SHA-256 of the exact call, in hexadecimal.
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
    /// Who answered.
    pub answered_by: Option<String>,
    /// When.
    pub answered_at: Option<DateTime<Utc>>,
    /// The note of the answer.
    pub note: Option<String>,
}
