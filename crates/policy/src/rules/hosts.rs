//! Hosts that a command changes: with `policy.hosts: inventory`, only those of `hosts.yaml`.

use std::net::IpAddr;

use crate::effects::PartEffect;
use crate::lists::{KNOWN_SERVICES, LOCAL_NAMES};
use crate::model::installation::inventory::{Inventory, is_loopback, ssh_host};
use crate::model::records::verdict::{Reason, ResolvedAction, each_once};
use crate::model::rights::policy::{HostsAllowed, Policy, Tier};
use opsctl_reader::shell::glob;
use opsctl_reader::terms::effect::Effect;

/// What a denial states of a host, behind its name in backquotes.
pub const NOT_LISTED: &str = "is not a host of hosts.yaml";

/// The objections to what a command would do on hosts that the inventory does not list. Reading is allowed on any host.
pub fn objections(
    parts: &[PartEffect],
    actions: &[ResolvedAction],
    inventory: &Inventory,
    policy: &Policy,
    tier: Option<Tier>,
) -> Vec<Reason> {
    let Some(rights) = tier.map(|tier| policy.tier(tier)) else { return vec![] };
    if policy.hosts == HostsAllowed::Any || inventory.hosts.is_empty() {
        return vec![];
    }
    // What the tier denies needs no second reason, unless a person may lift the denial.
    let asks = !policy.ask.is_empty();
    let is_acting = |action: &&ResolvedAction| asks || rights.allow.contains(&action.action.kind);
    let acts = actions.iter().any(|action| is_acting(&action));
    let changes = |part: &&PartEffect| match part.effect {
        Effect::Reads => false,
        Effect::Acts => acts,
        Effect::Changes | Effect::Unknown if asks => true,
        effect => rights.effects.contains(&effect),
    };
    let changing = parts.iter().filter(changes).flat_map(|part| &part.hosts);
    let acting = actions
        .iter()
        .filter(|action| is_acting(action) && !action.action.via.iter().any(|via| via == "ansible"));
    let hosts = changing.chain(acting.filter_map(|action| action.host.as_ref()));
    // A launcher may name several.
    let is_listed = |host: &str| is_loopback(host) || inventory.find_host(host).is_some();
    let is_foreign = |host: &&String| !host.split(',').all(is_listed);
    // What a request reaches in the own network, or at the address of a check, is known.
    let sends = |part: &&PartEffect| part.effect == Effect::Reads || changes(part);
    let requested = parts.iter().filter(sends).flat_map(|part| &part.changes_at);
    let requested = requested.filter(|host| !is_own(&bare(host), inventory));
    let foreign = hosts.chain(requested).filter(is_foreign);
    let objection = |host: &String| {
        let text = format!(
            "`{host}` {NOT_LISTED}, and this session may change only hosts that are listed there (policy.hosts). Use the name or address of a listed host, or report what is needed."
        );
        Reason::of("hosts", text)
    };
    each_once(foreign.map(objection))
}

/// The objections to requests that carry the output of a command, or the content of a file, to a host that the inventory does
/// not list. A tier that may change something could send it in other ways.
pub fn leaving(
    parts: &[PartEffect],
    inventory: &Inventory,
    policy: &Policy,
    tier: Option<Tier>,
) -> Vec<Reason> {
    if !only_reads(policy, tier) || inventory.hosts.is_empty() {
        return vec![];
    }
    let objection = |(part, host): (&PartEffect, &String)| {
        let host = bare(host);
        let to = match host.as_str() {
            "" => "a host that only the run knows".to_owned(),
            host if is_listed(host, inventory) => return None,
            host => format!("`{host}`, which {NOT_LISTED}"),
        };
        let text = format!(
            "{} carries the output of a command, or the content of a file, to {to}. At tier {} such data goes only to listed \
             hosts. Write the value into the command, or leave it out.",
            named(part),
            tier.map_or(1, Tier::number),
        );
        Some(Reason::of("hosts", text))
    };
    let sent = parts.iter().flat_map(|part| part.sends_to.iter().map(move |host| (part, host)));
    each_once(sent.filter_map(objection))
}

/// The objections to requests that carry a variable with the name of a secret to a host that neither the inventory nor the list of
/// known services names, outside the local network.
pub fn revealing(parts: &[PartEffect], inventory: &Inventory) -> Vec<Reason> {
    if inventory.hosts.is_empty() {
        return vec![];
    }
    let objection = |(part, host): (&PartEffect, &String)| {
        let to = foreign(host, inventory)?;
        let text = format!(
            "Secret: {} carries a secret to {to}. Send it only to listed hosts and to the service that it belongs \
             to.",
            named(part),
        );
        Some(Reason::of("secret", text))
    };
    let sent = parts.iter().flat_map(|part| part.reveals_to.iter().map(move |host| (part, host)));
    each_once(sent.filter_map(objection))
}

/// The objections to clients that send the credentials of their settings or variables to such a host. A tier that may change
/// something could send them in other ways.
pub fn logging_in(
    parts: &[PartEffect],
    inventory: &Inventory,
    policy: &Policy,
    tier: Option<Tier>,
) -> Vec<Reason> {
    if inventory.hosts.is_empty() || !only_reads(policy, tier) {
        return vec![];
    }
    let objection = |(part, host): (&PartEffect, &String)| {
        let to = foreign(host, inventory)?;
        let text = format!(
            "Secret: {} sends its credentials to {to}. Name a listed host, or leave the server out.",
            named(part),
        );
        Some(Reason::of("secret", text))
    };
    let named = parts.iter().flat_map(|part| part.logs_in_at.iter().map(move |host| (part, host)));
    each_once(named.filter_map(objection))
}

/// A part as the subject of a sentence.
fn named(part: &PartEffect) -> String {
    let comma = if part.whereabouts.is_empty() { "" } else { "," };
    format!("`{}`{}{comma}", part.form, part.whereabouts)
}

/// Whether a session may do nothing but read.
fn only_reads(policy: &Policy, tier: Option<Tier>) -> bool {
    tier.is_some_and(|tier| policy.tier(tier).effects == [Effect::Reads])
}

/// How a sentence names a host that neither the inventory nor the list of known services names, outside the local network.
fn foreign(host: &str, inventory: &Inventory) -> Option<String> {
    let host = bare(host);
    // A variable may state the host.
    let is_known = || {
        is_listed(&host, inventory)
            || is_own(&host, inventory)
            || is_private(&host)
            || host.contains('$')
            || KNOWN_SERVICES.iter().any(|one| glob(one, &host))
    };
    match host.as_str() {
        "" => Some("a host that only the run knows".to_owned()),
        _ if is_known() => None,
        host => Some(format!("`{host}`, which {NOT_LISTED}")),
    }
}

/// The host of an address, without its user and port, in small letters.
fn bare(host: &str) -> String {
    ssh_host(host).to_ascii_lowercase()
}

/// Whether a check of health asks this host.
fn is_checked(host: &str, inventory: &Inventory) -> bool {
    let mut checks = inventory.services.iter().filter_map(|service| service.health.as_ref());
    checks.any(|health| health.url.split('/').nth(2).is_some_and(|known| bare(known) == host))
}

/// Whether the inventory lists a host, or checks a service on it.
fn is_listed(host: &str, inventory: &Inventory) -> bool {
    is_loopback(host) || inventory.find_host(host).is_some() || is_checked(host, inventory)
}

/// Whether a host has a name of the local network, lies in the domain of the inventory, or is checked.
fn is_own(host: &str, inventory: &Inventory) -> bool {
    let is_below = |domain: &String| host.ends_with(&format!(".{domain}"));
    !host.contains(['.', ':'])
        || LOCAL_NAMES.iter().any(|one| glob(one, host))
        || inventory.domain.as_ref().is_some_and(is_below)
        || is_checked(host, inventory)
}

/// Whether a host is given by an address of a local network.
fn is_private(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.is_private() || address.is_link_local(),
        Ok(IpAddr::V6(address)) => address.is_unique_local() || address.is_unicast_link_local(),
        Err(_) => false,
    }
}
