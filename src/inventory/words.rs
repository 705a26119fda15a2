//! The words of `hosts.yaml` that stand for a choice; the compiled policy uses the same.

use serde::{Deserialize, Serialize};

use crate::model::action::{ActionKind, Verb};
use crate::model::checks::{Engine, Verifier};
use crate::model::message::Audience;
use crate::model::policy::{OnFailure, Unresolved};
use crate::model::rules::Where;

/// See [`Unresolved`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnresolvedWire {
    Budget,
    Allow,
    Deny,
}

/// See [`OnFailure`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailureWire {
    Open,
    Closed,
}

/// A kind of action that a tier can be allowed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KindWire {
    Restart,
    Redeployment,
    PullRequest,
    Notification,
}

/// What a tool does: a kind of action, or something that nobody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolActionWire {
    Restart,
    Redeployment,
    PullRequest,
    Notification,
    Never,
}

impl From<ToolActionWire> for ActionKind {
    fn from(word: ToolActionWire) -> Self {
        match word {
            ToolActionWire::Restart => Self::Restart,
            ToolActionWire::Redeployment => Self::Redeployment,
            ToolActionWire::PullRequest => Self::PullRequest,
            ToolActionWire::Notification => Self::Notification,
            ToolActionWire::Never => Self::Forbidden,
        }
    }
}

impl From<ActionKind> for ToolActionWire {
    fn from(kind: ActionKind) -> Self {
        match kind {
            ActionKind::Restart => Self::Restart,
            ActionKind::Redeployment => Self::Redeployment,
            ActionKind::PullRequest => Self::PullRequest,
            ActionKind::Notification => Self::Notification,
            ActionKind::Forbidden => Self::Never,
        }
    }
}

impl ToolActionWire {
    /// What is done where no verb says so.
    pub const fn usual_verb(self) -> Verb {
        match self {
            Self::Restart => Verb::Restart,
            Self::Redeployment => Verb::Deploy,
            Self::PullRequest => Verb::Create,
            Self::Notification => Verb::Send,
            Self::Never => Verb::Loosen,
        }
    }
}

/// How a tool restarts: a stop opens a cycle that a start closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolVerbWire {
    Restart,
    Stop,
    Start,
}

impl ToolVerbWire {
    /// The word for a verb, where it is one of these.
    pub const fn of(verb: Verb) -> Option<Self> {
        Some(match verb {
            Verb::Restart => Self::Restart,
            Verb::Stop => Self::Stop,
            Verb::Start => Self::Start,
            _ => return None,
        })
    }
}

impl From<ToolVerbWire> for Verb {
    fn from(word: ToolVerbWire) -> Self {
        match word {
            ToolVerbWire::Restart => Self::Restart,
            ToolVerbWire::Stop => Self::Stop,
            ToolVerbWire::Start => Self::Start,
        }
    }
}

/// See [`Where`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhereWire {
    Local,
    Remote,
    Any,
}

impl From<WhereWire> for Where {
    fn from(word: WhereWire) -> Self {
        match word {
            WhereWire::Local => Self::Local,
            WhereWire::Remote => Self::Remote,
            WhereWire::Any => Self::Any,
        }
    }
}

impl From<Where> for WhereWire {
    fn from(place: Where) -> Self {
        match place {
            Where::Local => Self::Local,
            Where::Remote => Self::Remote,
            Where::Any => Self::Any,
        }
    }
}

impl From<UnresolvedWire> for Unresolved {
    fn from(word: UnresolvedWire) -> Self {
        match word {
            UnresolvedWire::Budget => Self::Budget,
            UnresolvedWire::Allow => Self::Allow,
            UnresolvedWire::Deny => Self::Deny,
        }
    }
}

impl From<Unresolved> for UnresolvedWire {
    fn from(choice: Unresolved) -> Self {
        match choice {
            Unresolved::Budget => Self::Budget,
            Unresolved::Allow => Self::Allow,
            Unresolved::Deny => Self::Deny,
        }
    }
}

impl From<OnFailureWire> for OnFailure {
    fn from(word: OnFailureWire) -> Self {
        match word {
            OnFailureWire::Open => Self::Open,
            OnFailureWire::Closed => Self::Closed,
        }
    }
}

impl From<OnFailure> for OnFailureWire {
    fn from(choice: OnFailure) -> Self {
        match choice {
            OnFailure::Open => Self::Open,
            OnFailure::Closed => Self::Closed,
        }
    }
}

impl From<KindWire> for ActionKind {
    fn from(word: KindWire) -> Self {
        match word {
            KindWire::Restart => Self::Restart,
            KindWire::Redeployment => Self::Redeployment,
            KindWire::PullRequest => Self::PullRequest,
            KindWire::Notification => Self::Notification,
        }
    }
}

impl KindWire {
    /// The word for a kind; `Forbidden` is no right that a tier can have.
    pub const fn of(kind: ActionKind) -> Option<Self> {
        Some(match kind {
            ActionKind::Restart => Self::Restart,
            ActionKind::Redeployment => Self::Redeployment,
            ActionKind::PullRequest => Self::PullRequest,
            ActionKind::Notification => Self::Notification,
            ActionKind::Forbidden => return None,
        })
    }
}

/// See [`Engine`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineWire {
    Docker,
    Podman,
}

impl From<EngineWire> for Engine {
    fn from(word: EngineWire) -> Self {
        match word {
            EngineWire::Docker => Self::Docker,
            EngineWire::Podman => Self::Podman,
        }
    }
}

impl From<Engine> for EngineWire {
    fn from(choice: Engine) -> Self {
        match choice {
            Engine::Docker => Self::Docker,
            Engine::Podman => Self::Podman,
        }
    }
}

/// See [`Verifier`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerifierWire {
    Command,
    Agent,
    Both,
}

impl From<VerifierWire> for Verifier {
    fn from(word: VerifierWire) -> Self {
        match word {
            VerifierWire::Command => Self::Command,
            VerifierWire::Agent => Self::Agent,
            VerifierWire::Both => Self::Both,
        }
    }
}

impl From<Verifier> for VerifierWire {
    fn from(choice: Verifier) -> Self {
        match choice {
            Verifier::Command => Self::Command,
            Verifier::Agent => Self::Agent,
            Verifier::Both => Self::Both,
        }
    }
}

/// What a session may do with a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContactTagWire {
    ClaudeDirect,
    ClaudeDraft,
}

/// See [`Audience`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AudienceWire {
    Nobody,
    Contacts,
    Anyone,
}

impl From<AudienceWire> for Audience {
    fn from(word: AudienceWire) -> Self {
        match word {
            AudienceWire::Nobody => Self::Nobody,
            AudienceWire::Contacts => Self::Contacts,
            AudienceWire::Anyone => Self::Anyone,
        }
    }
}

impl From<Audience> for AudienceWire {
    fn from(choice: Audience) -> Self {
        match choice {
            Audience::Nobody => Self::Nobody,
            Audience::Contacts => Self::Contacts,
            Audience::Anyone => Self::Anyone,
        }
    }
}
