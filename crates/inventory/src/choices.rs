//! Values that are one of a few words, in `hosts.yaml` and in the compiled policy, and the enums of the model that they
//! stand for.

use serde::{Deserialize, Serialize};

use crate::model::action::{ActionKind, Verb};
use crate::model::checks::{Engine, Place, Verifier};
use crate::model::effect::Effect;
use crate::model::message::Audience;
use crate::model::policy::{HostsAllowed, OnFailure, Per, Resolve, Unlisted, Unresolved};
use crate::model::rules::Where;

/// Defines enums of words: `WIRE <=> MODEL { Variant = "word", … }` has a word for every variant of the model's enum,
/// and `From` both ways; `WIRE => MODEL { … }` has words for some, and `of`, which returns `None` for the others.
macro_rules! choices {
    () => {};
    ($wire:ident <=> $model:ident { $($variant:ident = $word:literal),+ } $($more:tt)*) => {
        choices!(@words $wire $model $($variant $word)+);

        impl From<$model> for $wire {
            fn from(value: $model) -> Self {
                match value { $($model::$variant => Self::$variant),+ }
            }
        }

        choices!($($more)*);
    };
    ($wire:ident => $model:ident { $($variant:ident = $word:literal),+ } $($more:tt)*) => {
        choices!(@words $wire $model $($variant $word)+);

        impl $wire {
            pub const fn of(value: $model) -> Option<Self> {
                match value { $($model::$variant => Some(Self::$variant),)+ _ => None }
            }
        }

        choices!($($more)*);
    };
    (@words $wire:ident $model:ident $($variant:ident $word:literal)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $wire { $(#[serde(rename = $word)] $variant),+ }

        impl From<$wire> for $model {
            fn from(word: $wire) -> Self {
                match word { $($wire::$variant => Self::$variant),+ }
            }
        }
    };
}

choices! {
    UnresolvedWire <=> Unresolved { Budget = "budget", Allow = "allow", Deny = "deny" }
    UnlistedWire <=> Unlisted { Own = "own", Shared = "shared", Deny = "deny" }
    HostsWire <=> HostsAllowed { Inventory = "inventory", Any = "any" }
    PerWire <=> Per { Service = "service", Agent = "agent" }
    OnFailureWire <=> OnFailure { Open = "open", Closed = "closed" }
    WhereWire <=> Where { Local = "local", Remote = "remote", Any = "any" }
    EngineWire <=> Engine { Docker = "docker", Podman = "podman" }
    PlaceWire <=> Place { Host = "host", Local = "local" }
    VerifierWire <=> Verifier { Command = "command", Agent = "agent", Both = "both" }
    AudienceWire <=> Audience { Nobody = "nobody", Contacts = "contacts", Anyone = "anyone" }

    // The kinds of action that a tier can be allowed.
    KindWire => ActionKind {
        Restart = "restart", Redeployment = "redeployment", PullRequest = "pull_request", Notification = "notification"
    }
    // What a command of a tier, or an MCP tool, may do to the world.
    EffectWire => Effect { Reads = "reads", Changes = "changes", Unknown = "unknown" }
    // The action of an MCP tool.
    ToolActionWire <=> ActionKind {
        Restart = "restart", Redeployment = "redeployment", PullRequest = "pull_request", Notification = "notification",
        Forbidden = "never"
    }
    // How an MCP tool restarts: a stop opens a cycle that a start closes.
    ToolVerbWire => Verb { Restart = "restart", Stop = "stop", Start = "start" }
}

/// Where engines are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResolveWire {
    #[serde(rename = "local")]
    Local,
    #[serde(rename = "ssh")]
    Ssh,
}

impl ResolveWire {
    /// The places of a list.
    pub fn of_list(list: &[Self]) -> Resolve {
        Resolve { local: list.contains(&Self::Local), ssh: list.contains(&Self::Ssh) }
    }

    /// The list of the places.
    pub fn list(Resolve { local, ssh }: Resolve) -> Vec<Self> {
        let places = [(local, Self::Local), (ssh, Self::Ssh)];
        places.into_iter().filter(|(asked, _)| *asked).map(|(_, place)| place).collect()
    }
}

impl ToolActionWire {
    /// The verb of a tool for which none is stated.
    pub const fn default_verb(self) -> Verb {
        match self {
            Self::Restart => Verb::Restart,
            Self::Redeployment => Verb::Deploy,
            Self::PullRequest => Verb::Create,
            Self::Notification => Verb::Send,
            Self::Forbidden => Verb::Loosen,
        }
    }
}
