//! The policy of the host.

use crate::machine::request::Request;
use opsctl_inventory::load;

/// Checks that the policy of this host can be used: without it, nothing runs.
pub fn usable(request: &Request) -> Result<(), String> {
    let policy = request.hosts.as_deref().ok_or("this host has no policy")?;
    let loaded = load::load(policy);
    loaded.map(drop).map_err(|error| format!("the policy of this host cannot be used: {error}"))
}
