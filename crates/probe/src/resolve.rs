//! Name resolution with the system's resolver.

use std::io;
use std::net::IpAddr;

/// The IPv4 and IPv6 addresses of a name, without duplicates, in order of preference.
///
/// An error means that the lookup failed or found no address. The lookup runs in a thread that cannot be cancelled, so
/// callers need a timeout.
pub async fn addresses(name: &str, port: u16) -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    for found in tokio::net::lookup_host((name, port)).await? {
        if !addresses.contains(&found.ip()) {
            addresses.push(found.ip());
        }
    }
    Ok(addresses)
}
