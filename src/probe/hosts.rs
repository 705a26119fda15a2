//! A quick look at all hosts, for those who show it.

use std::time::Duration;

use super::icmp::{NOT_PERMITTED, Reachability, ping_all};
use crate::model::inventory::Host;

/// A host and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<'a> {
    /// The host.
    pub host: &'a Host,
    /// Whether it answers.
    pub reachability: Reachability,
}

/// Looks at all of them at once, and is back when each has answered, at the deadline at the latest.
pub fn look<'a>(hosts: &'a [Host], deadline: Duration, notes: &mut Vec<String>) -> Vec<Found<'a>> {
    let addresses: Vec<&str> = hosts.iter().map(|host| host.address.as_str()).collect();
    let found = ping_all(&addresses, deadline).unwrap_or_else(|error| {
        notes.push(format!("hosts not checked: {error}"));
        vec![Reachability::Unknown; hosts.len()]
    });
    if found.contains(&Reachability::Unknown) {
        notes.push(NOT_PERMITTED.to_owned());
    }
    hosts.iter().zip(found).map(|(host, reachability)| Found { host, reachability }).collect()
}
