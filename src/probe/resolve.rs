//! From names to addresses, by the system's own resolver: `/etc/hosts` and all that it is set up with.

use std::io;
use std::net::IpAddr;

/// The addresses of a name, IPv4 and IPv6, each once, in the order in which they are to be tried.
///
/// An error means that the name could not be looked up, or has no address. The lookup runs in a thread of its
/// own that nothing can end: set a deadline of your own around it.
pub async fn addresses(name: &str, port: u16) -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    for found in tokio::net::lookup_host((name, port)).await? {
        if !addresses.contains(&found.ip()) {
            addresses.push(found.ip());
        }
    }
    Ok(addresses)
}
