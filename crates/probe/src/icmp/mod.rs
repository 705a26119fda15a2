//! Pings many hosts concurrently, with one socket per address family and one deadline.

mod reachability;
mod sockets;
mod sweep;

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use crate::runtime;

pub use reachability::{Effort, Reachability};

/// The default number of probes per host. One lost packet must not make a host unreachable.
pub const PROBES: u16 = 2;

/// The remedy if ICMP is not permitted.
pub const NOT_PERMITTED: &str = "the reachability of hosts is unknown, because ICMP is not permitted; set the sysctl net.ipv4.ping_group_range=\"0 2147483647\", or add the capability NET_RAW";

/// Pings all addresses (IPv4, IPv6 or names) concurrently, for at most `deadline`. The result has their order. An error
/// means that the runtime could not be created.
pub fn ping_all(addresses: &[&str], deadline: Duration) -> io::Result<Vec<Reachability>> {
    ping(addresses, Effort { deadline, probes: PROBES }, &mut |_| {})
}

/// Pings all addresses (IPv4, IPv6 or names) with the given effort. Calls `progress` with the number of finished hosts.
pub fn ping(
    addresses: &[&str],
    effort: Effort,
    progress: &mut dyn FnMut(usize),
) -> io::Result<Vec<Reachability>> {
    if addresses.is_empty() {
        return Ok(vec![]);
    }
    runtime::run(async { sweep::sweep(addresses, effort, Instant::now(), progress).await })
}
