//! The tiers of sessions.

use serde::{Deserialize, Serialize};

/// The tier of a session, which determines its rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Tier {
    /// Tier 1: observe and report.
    Observe = 1,
    /// Tier 2: also restart services.
    Remediate = 2,
    /// Tier 3: also redeploy services.
    Full = 3,
}

impl Tier {
    /// All tiers, in ascending order.
    pub const ALL: [Self; 3] = [Self::Observe, Self::Remediate, Self::Full];

    /// The tier with this number, 1 to 3.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Observe),
            2 => Some(Self::Remediate),
            3 => Some(Self::Full),
            _ => None,
        }
    }

    /// The number, 1 to 3.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// What a list of three has for this tier.
    pub const fn of<T>(self, [one, two, three]: &[T; 3]) -> &T {
        match self {
            Self::Observe => one,
            Self::Remediate => two,
            Self::Full => three,
        }
    }

    /// The higher tiers, in ascending order.
    pub fn higher(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |tier| *tier > self)
    }

    /// The next higher tier, if there is one.
    pub const fn above(self) -> Option<Self> {
        Self::from_number(self.number() + 1)
    }
}

impl From<Tier> for u8 {
    fn from(tier: Tier) -> Self {
        tier.number()
    }
}

impl TryFrom<u8> for Tier {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        Self::from_number(number).ok_or("is not a tier; the tiers are `1`, `2` and `3`")
    }
}
