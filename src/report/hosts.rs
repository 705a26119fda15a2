//! The section with the reachability of hosts.

use serde::Serialize;

use super::format::{count, plain};
use crate::probe::hosts::Found;
use crate::probe::icmp::Reachability;

/// The maximum number of listed hosts; further ones are counted.
const MOST: usize = 120;

#[derive(Serialize)]
pub struct HostsView {
    summary: String,
    hosts: Vec<HostView>,
    more: usize,
}

#[derive(Serialize)]
struct HostView {
    name: String,
    address: String,
    state: &'static str,
    rtt: Option<String>,
}

impl HostsView {
    /// Sorts unreachable hosts first.
    pub fn of(found: &[Found]) -> Self {
        let mut found: Vec<&Found> = found.iter().collect();
        found.sort_by_key(|found| rank(found.reachability));
        let with = |rank_of: u8| found.iter().filter(|found| rank(found.reachability) == rank_of).count();
        let reachable = with(3);
        let mut summary = vec![format!("{reachable} of {} reachable", count(found.len(), "host", "hosts"))];
        for (rank, words) in [(0, "unreachable"), (1, "without an address"), (2, "unknown")] {
            if with(rank) > 0 {
                summary.push(format!("{} {words}", with(rank)));
            }
        }
        Self {
            summary: summary.join(", "),
            more: found.len().saturating_sub(MOST),
            hosts: found.into_iter().take(MOST).map(host).collect(),
        }
    }
}

const fn rank(reachability: Reachability) -> u8 {
    match reachability {
        Reachability::Unreachable => 0,
        Reachability::Unresolved => 1,
        Reachability::Unknown => 2,
        Reachability::Reachable(_) => 3,
    }
}

fn host(found: &Found) -> HostView {
    HostView {
        name: plain(&found.name),
        address: plain(&found.address),
        state: found.reachability.as_str(),
        rtt: match found.reachability {
            Reachability::Reachable(rtt) if rtt.as_micros() < 100 => Some("under 0.1 ms".to_owned()),
            Reachability::Reachable(rtt) => Some(format!("{:.1} ms", rtt.as_secs_f64() * 1e3)),
            _ => None,
        },
    }
}
