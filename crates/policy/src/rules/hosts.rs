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
        let reason = Reason { rule: "hosts", topic: None, text };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "::1") || host.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects as effect;
    use crate::effects::Scratch;
    use crate::model::installation::inventory::Host;
    use crate::model::rights::policy::Resolve;
    use crate::paths::word_paths::UnknownMachine;
    use crate::targets::identity;
    use crate::targets::identity::NoSurroundings;
    use opsctl_reader::actions::read_command;

    fn denied(command: &str, policy: &Policy, tier: Option<Tier>) -> Vec<String> {
        let hosts = vec![Host {
            name: "ie01".into(),
            address: "192.0.2.1".into(),
            ssh: Some("root@ie01.lan".into()),
        }];
        let inventory = Inventory { domain: Some("example.net".into()), hosts, services: vec![] };
        let reading = read_command(command, None);
        let parts = effect::parts(&reading.script, &Scratch::default(), &[], &UnknownMachine);
        let resolve = Resolve { local: false, ssh: false };
        let actions = identity::resolve(reading.actions, &inventory, resolve, &NoSurroundings);
        let reasons = objections(&parts, &actions, &inventory, policy, tier);
        reasons
            .into_iter()
            .map(|reason| reason.text.split('`').nth(1).unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn denies_changes_on_hosts_that_are_not_listed() {
        let policy = Policy::default();
        for (command, hosts) in [
            ("ssh root@nas docker restart x", vec!["nas"]),
            ("ssh ie01 ssh nas systemctl restart x", vec!["nas"]),
            ("ssh nas", vec!["nas"]),
            ("docker -H ssh://root@nas restart x", vec!["nas"]),
            ("DOCKER_HOST=tcp://nas:2375 docker run -d x", vec!["nas"]),
            ("systemctl -H nas daemon-reload", vec!["nas"]),
            ("scp /tmp/a root@nas:/etc/", vec!["nas"]),
            ("rsync -a /tmp/a nas:/srv/", vec!["nas"]),
            ("for h in ie01 nas; do ssh $h rm /x; done", vec!["nas"]),
            ("ssh \"$HOST\" rm /x", vec!["$HOST"]),
            ("ssh nas docker ps", vec![]),
            ("ssh root@192.0.2.1 rm /x; ssh ie01 rm /x; ssh ie01.lan rm /x", vec![]),
            ("ssh ie01.example.net rm /x", vec![]),
            ("ssh localhost rm /x; docker -H tcp://127.0.0.1:2375 restart x", vec![]),
            ("ansible media -m service -a 'name=x state=restarted'", vec![]),
            ("docker restart nas", vec![]),
        ] {
            assert_eq!(denied(command, &policy, Some(Tier::Remediate)), hosts, "{command}");
        }
    }

    #[test]
    fn any_allows_every_host_and_a_session_without_tier_is_not_limited() {
        let any = Policy { hosts: HostsAllowed::Any, ..Policy::default() };
        assert_eq!(denied("ssh nas rm /x", &any, Some(Tier::Full)), [""; 0]);
        assert_eq!(denied("ssh nas rm /x", &Policy::default(), None), [""; 0]);
    }
}
