//! The allow-list of the egress proxy: a file of extended regular expressions, as the option `Filter` of tinyproxy reads it.

use std::collections::BTreeSet;

use url::Url;

use opsctl_policy::model::installation::inventory::{Inventory, ssh_host};

/// The host of the API.
const API: &str = "api.anthropic.com";

/// The API, and the hosts of the inventory: addresses, ssh destinations, health endpoints and DNS names. One line each,
/// which matches the whole name.
pub fn allow_list(inventory: &Inventory) -> String {
    let mut names = BTreeSet::from([API.to_owned()]);
    for host in &inventory.hosts {
        names.insert(host.address.clone());
        names.extend(host.ssh.as_deref().map(|ssh| ssh_host(ssh).to_owned()));
    }
    for service in &inventory.services {
        let url = service.health.as_ref().and_then(|health| Url::parse(&health.url).ok());
        names.extend(url.and_then(|url| url.host_str().map(str::to_owned)));
        names.extend(service.dns.as_ref().map(|dns| dns.name.clone()));
    }
    names.iter().map(|name| format!("{}\n", whole(name))).collect()
}

/// A regular expression that matches this host only, in its own case. An IPv6 address may be in brackets.
fn whole(name: &str) -> String {
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let escaped: String = name
        .chars()
        .flat_map(|c| {
            let plain = c.is_alphanumeric() || matches!(c, '-' | ':' | '_');
            (!plain).then_some('\\').into_iter().chain([c])
        })
        .collect();
    if name.contains(':') { format!("^\\[?{escaped}\\]?$") } else { format!("^{escaped}$") }
}
