//! Hosts that a command changes: with `policy.hosts: inventory`, only those of `hosts.yaml`.

use crate::effects::PartEffect;
use crate::model::installation::inventory::Inventory;
use crate::model::records::verdict::{Reason, ResolvedAction};
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
    let mut reasons = Vec::new();
    for host in changing.chain(acting.filter_map(|action| action.host.as_ref())) {
        if is_local(host) || inventory.find_host(host).is_some() {
            continue;
        }
        let text = format!(
            "`{host}` {NOT_LISTED}, and this session may change only hosts that are listed there (policy.hosts). Use the name or address of a listed host, or report what is needed."
        );
        let reason = Reason::of("hosts", text);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "::1") || host.starts_with("127.")
}
