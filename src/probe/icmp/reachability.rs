//! Whether a host answers, and how hard it is tried.

use std::time::Duration;

/// What is known of a host after a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reachability {
    /// It answered, after this long.
    Reachable(Duration),
    /// It did not answer within the deadline.
    Unreachable,
    /// Its name has no address, or none was found in time.
    Unresolved,
    /// This process may not send ICMP: nothing can be said of the host.
    Unknown,
}

impl Reachability {
    /// The word that people and JSON use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reachable(_) => "reachable",
            Self::Unreachable => "unreachable",
            Self::Unresolved => "unresolved",
            Self::Unknown => "unknown",
        }
    }
}

/// How hard hosts are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// The time that all hosts together are given.
    pub deadline: Duration,
    /// Probes per address, spread evenly over the deadline; the first reply ends them.
    pub probes: u16,
}
