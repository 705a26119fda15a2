//! What a person is asked about instead of denying it: `policy.ask` of `hosts.yaml`.

use serde::{Deserialize, Serialize};

use super::window::Window;

/// An objection that a person may lift.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Topic {
    /// A used-up budget.
    Budget,
    /// A service that another agent is remediating.
    Exclusive,
    /// An action or a command that the tier does not allow.
    Tier,
    /// A command that changes something, where the tier allows no changes.
    Changes,
    /// A command whose effect is unknown, where the tier does not allow that.
    Unknown,
    /// An always-denied command, by the name of the rule.
    Never(String),
}

impl Topic {
    /// The topics that are not names of rules.
    pub const FIXED: [(&'static str, Self); 5] = [
        ("budget", Self::Budget),
        ("exclusive", Self::Exclusive),
        ("tier", Self::Tier),
        ("changes", Self::Changes),
        ("unknown", Self::Unknown),
    ];

    /// The name in `hosts.yaml`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Never(rule) => rule,
            fixed => Self::FIXED.iter().find(|(_, topic)| topic == fixed).map_or("", |(name, _)| *name),
        }
    }

    /// The topic of this name: one of [`Topic::FIXED`], else that of a rule.
    pub fn named(name: &str) -> Self {
        let fixed = Self::FIXED.into_iter().find(|(known, _)| *known == name);
        fixed.map_or_else(|| Self::Never(name.to_owned()), |(_, topic)| topic)
    }
}

impl From<String> for Topic {
    fn from(name: String) -> Self {
        Self::named(&name)
    }
}

impl From<Topic> for String {
    fn from(topic: Topic) -> Self {
        topic.as_str().to_owned()
    }
}

/// A topic that is asked about, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// What is asked.
    pub topic: Topic,
    /// Tags of notification targets, in addition to the usual ones.
    pub contact: Vec<String>,
    /// How long a question stays open; then the call is denied.
    pub timeout: Window,
    /// The most questions of one session within `window`.
    pub limit: u32,
    /// The most questions of all sessions within `window`.
    pub total: u32,
    /// The window of the limits.
    pub window: Window,
}

impl Ask {
    /// A topic with the defaults: 30 minutes, 4 questions of a session and 12 of all sessions within one hour.
    pub fn about(topic: Topic) -> Self {
        Self {
            topic,
            contact: vec![],
            timeout: Window::minutes(30),
            limit: 4,
            total: 12,
            window: Window::hours(1),
        }
    }
}
