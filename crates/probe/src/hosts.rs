//! A quick ping of all hosts, as status and report show it.

use std::io;
use std::time::Duration;

use super::icmp::{NOT_PERMITTED, Reachability, ping_all};
use crate::model::inventory::Host;

/// A host and its reachability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<'a> {
    /// The host.
    pub host: &'a Host,
    /// Whether it answered.
    pub reachability: Reachability,
}

/// Why the reachability of hosts is unknown.
#[derive(Debug, thiserror::Error)]
pub enum PingWarning {
    /// No host was pinged.
    #[error("hosts not checked: {0}")]
    NotChecked(io::Error),
    /// This process may not send ICMP.
    #[error("{NOT_PERMITTED}")]
    NotPermitted,
}

/// Pings all hosts at once and returns when each has answered, at the deadline at the latest.
pub fn look(hosts: &[Host], deadline: Duration) -> (Vec<Found<'_>>, Option<PingWarning>) {
    let addresses: Vec<&str> = hosts.iter().map(|host| host.address.as_str()).collect();
    let (reachability, warning) = match ping_all(&addresses, deadline) {
        Ok(found) => {
            let warning = found.contains(&Reachability::Unknown).then_some(PingWarning::NotPermitted);
            (found, warning)
        }
        Err(error) => (vec![Reachability::Unknown; hosts.len()], Some(PingWarning::NotChecked(error))),
    };
    let found = hosts.iter().zip(reachability).map(|(host, reachability)| Found { host, reachability });
    (found.collect(), warning)
}
