//! The reachability of a host.

use std::time::Duration;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

/// The reachability of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reachability {
    /// It answered, with this round-trip time.
    Reachable(Duration),
    /// It did not answer within the deadline.
    Unreachable,
    /// Its name has no address, or was not resolved in time.
    Unresolved,
    /// Unknown, because this process may not send ICMP.
    Unknown,
}

impl Reachability {
    /// The name in output and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reachable(_) => "reachable",
            Self::Unreachable => "unreachable",
            Self::Unresolved => "unresolved",
            Self::Unknown => "unknown",
        }
    }
}

impl Serialize for Reachability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Milliseconds, rounded to microseconds.
        let rtt_ms = match self {
            Self::Reachable(rtt) => Some((rtt.as_secs_f64() * 1e6).round() / 1e3),
            _ => None,
        };
        let mut fields = serializer.serialize_struct("Reachability", 2)?;
        fields.serialize_field("state", self.as_str())?;
        fields.serialize_field("rtt_ms", &rtt_ms)?;
        fields.end()
    }
}

/// The limits of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// The timeout for all hosts together.
    pub deadline: Duration,
    /// The number of probes per address, spread evenly over the deadline. The first reply ends them.
    pub probes: u16,
}
