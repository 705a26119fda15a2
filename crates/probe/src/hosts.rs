//! A quick ping of all hosts, as status and report show it.

use std::io;
use std::time::Duration;

use serde::Serialize;

use super::icmp::{NOT_PERMITTED, Reachability, ping_all};
use opsctl_policy::model::installation::inventory::Host;

/// A host and its reachability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PingedHost {
    /// The name of the host.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Whether it answered.
    #[serde(flatten)]
    pub reachability: Reachability,
}

impl PingedHost {
    /// A host and its reachability.
    pub fn new(host: &Host, reachability: Reachability) -> Self {
        Self { name: host.name.clone(), address: host.address.clone(), reachability }
    }
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
pub fn look(hosts: &[Host], deadline: Duration) -> (Vec<PingedHost>, Option<PingWarning>) {
    let addresses: Vec<&str> = hosts.iter().map(|host| host.address.as_str()).collect();
    let (reachability, warning) = match ping_all(&addresses, deadline) {
        Ok(found) => {
            let warning = found.contains(&Reachability::Unknown).then_some(PingWarning::NotPermitted);
            (found, warning)
        }
        Err(error) => (vec![Reachability::Unknown; hosts.len()], Some(PingWarning::NotChecked(error))),
    };
    let found =
        hosts.iter().zip(reachability).map(|(host, reachability)| PingedHost::new(host, reachability));
    (found.collect(), warning)
}
