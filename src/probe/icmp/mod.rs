//! ICMP echo to many hosts at once, over one socket per address family, within one deadline.

mod reachability;
mod sockets;
mod sweep;

use std::io;
use std::time::Duration;

use tokio::time::Instant;

pub use reachability::{Effort, Reachability};

/// Probes per host where nothing else is asked for: a single lost packet must not make a host look dead.
pub const PROBES: u16 = 2;

/// What to do where nothing can be said of hosts.
pub const NOT_PERMITTED: &str = "hosts are unknown where ICMP is not permitted; set the sysctl net.ipv4.ping_group_range=\"0 2147483647\", or give the capability NET_RAW";

/// Threads that resolve names. A resolver that hangs holds one for longer than any deadline.
pub(super) const RESOLVERS: usize = 64;
/// Their stacks, in bytes: glibc's resolver needs a fraction of it.
pub(super) const RESOLVER_STACK: usize = 256 * 1024;

/// Asks all addresses (IPv4, IPv6 or names) at once and answers in their order, at the deadline at the
/// latest. An error means that no runtime could be had; every host is then unknown.
pub fn ping_all(addresses: &[&str], deadline: Duration) -> io::Result<Vec<Reachability>> {
    ping(addresses, Effort { deadline, probes: PROBES }, &mut |_| {})
}

/// The same with more say; `progress` is told how many hosts are known whenever that has grown.
pub fn ping(
    addresses: &[&str],
    effort: Effort,
    progress: &mut dyn FnMut(usize),
) -> io::Result<Vec<Reachability>> {
    if addresses.is_empty() {
        return Ok(vec![]);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(RESOLVERS)
        .thread_stack_size(RESOLVER_STACK)
        .build()?;
    let found = runtime.block_on(sweep::sweep(addresses, effort, Instant::now(), progress));
    // A resolver that hangs does so in a thread of its own, which nobody waits for.
    runtime.shutdown_background();
    Ok(found)
}
