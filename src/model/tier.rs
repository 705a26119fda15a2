//! The tiers: how far the agent of a session may go.

/// How far an agent may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Tier 1 looks and reports.
    Observe,
    /// Tier 2 restarts services.
    Remediate,
    /// Tier 3 also redeploys them.
    Full,
}

impl Tier {
    /// Every tier, from the lowest.
    pub const ALL: [Self; 3] = [Self::Observe, Self::Remediate, Self::Full];

    /// The tier of this number; `None` unless it is 1, 2 or 3.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Observe),
            2 => Some(Self::Remediate),
            3 => Some(Self::Full),
            _ => None,
        }
    }

    /// 1, 2 or 3.
    pub const fn number(self) -> u8 {
        match self {
            Self::Observe => 1,
            Self::Remediate => 2,
            Self::Full => 3,
        }
    }

    /// The next tier up, if there is one.
    pub const fn above(self) -> Option<Self> {
        Self::from_number(self.number() + 1)
    }
}
