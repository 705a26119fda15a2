//! Hosts that a command changes: with `policy.hosts: inventory`, only those of `hosts.yaml`.

use crate::effects::PartEffect;
use crate::model::installation::inventory::{Inventory, is_loopback, ssh_host};
use crate::model::records::verdict::{Reason, ResolvedAction, each_once};
use crate::model::rights::policy::{HostsAllowed, Policy, Tier};
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
    let changes = |part: &&PartEffect| match part.effect {
        Effect::Reads => false,
        Effect::Changes | Effect::Unknown if asks => true,
        effect => rights.effects.contains(&effect),
    };
    let changing = parts.iter().filter(changes).flat_map(|part| &part.hosts);
    let acting = actions.iter().filter(|action| {
        (asks || rights.allow.contains(&action.action.kind))
            && !action.action.via.iter().any(|via| via == "ansible")
    });
    let hosts = changing.chain(acting.filter_map(|action| action.host.as_ref()));
    let foreign = hosts.filter(|host| !is_loopback(host) && inventory.find_host(host).is_none());
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
    let only_reads = tier.is_some_and(|tier| policy.tier(tier).effects == [Effect::Reads]);
    if !only_reads || inventory.hosts.is_empty() {
        return vec![];
    }
    let bare = |host: &str| ssh_host(host).to_ascii_lowercase();
    let checked = |host: &str| {
        inventory
            .services
            .iter()
            .filter_map(|service| service.health.as_ref())
            .any(|health| health.url.split('/').nth(2).is_some_and(|known| bare(known) == host))
    };
    let objection = |(part, host): (&PartEffect, &String)| {
        let host = bare(host);
        let is_listed = || is_loopback(&host) || inventory.find_host(&host).is_some() || checked(&host);
        let to = match host.as_str() {
            "" => "a host that only the run knows".to_owned(),
            _ if is_listed() => return None,
            host => format!("`{host}`, which {NOT_LISTED}"),
        };
        let text = format!(
            "`{}`{}{} carries the output of a command, or the content of a file, to {to}. At tier {} such data goes only to listed \
             hosts. Write the value into the command, or leave it out.",
            part.form,
            part.whereabouts,
            if part.whereabouts.is_empty() { "" } else { "," },
            tier.map_or(1, Tier::number),
        );
        Some(Reason::of("hosts", text))
    };
    let sent = parts.iter().flat_map(|part| part.sends_to.iter().map(move |host| (part, host)));
    each_once(sent.filter_map(objection))
}
