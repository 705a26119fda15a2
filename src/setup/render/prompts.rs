//! Layer 4: the prompts of the tiers.

use minijinja::Environment;
use minijinja::context;
use minijinja::value::{Serde, Value};

use super::{templates, views};
use opsctl_inventory::Installation;
use opsctl_policy::model::installation::checks::Engine;
use opsctl_policy::model::installation::inventory::{Inventory, Service};
use opsctl_policy::model::rights::policy::{HostsAllowed, Tier};
use opsctl_policy::rules::never;
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::effect::Effect;

/// Templates that the prompts include.
const PARTS: [(&str, &str); 4] = [
    ("inventory.md", include_str!("../../../templates/prompts/inventory.md.j2")),
    ("limits.md", include_str!("../../../templates/prompts/limits.md.j2")),
    ("report.md", include_str!("../../../templates/prompts/report.md.j2")),
    ("handover.md", include_str!("../../../templates/prompts/handover.md.j2")),
];

const fn template(tier: Tier) -> &'static str {
    match tier {
        Tier::Observe => include_str!("../../../templates/prompts/tier1-observe.md.j2"),
        Tier::Remediate => include_str!("../../../templates/prompts/tier2-remediate.md.j2"),
        Tier::Full => include_str!("../../../templates/prompts/tier3-full.md.j2"),
    }
}

/// The number of names in one command: sshd refuses more than ten connections at once by default, and ten hosts that do
/// not answer take less than the client's timeout of a command.
const BATCH: usize = 10;

/// The path of a tier's prompt, relative to the output folder.
pub const fn path(tier: Tier) -> &'static str {
    match tier {
        Tier::Observe => ".claude/prompts/tier1-observe.md",
        Tier::Remediate => ".claude/prompts/tier2-remediate.md",
        Tier::Full => ".claude/prompts/tier3-full.md",
    }
}

/// Renders the prompt of a tier.
pub fn render(tier: Tier, installation: &Installation) -> Result<String, minijinja::Error> {
    let mut templates = templates::environment()?;
    add_parts(&mut templates)?;
    templates.add_template("prompt.md", template(tier))?;
    let policy = &installation.policy;
    let allow: Vec<&str> = policy.tier(tier).allow.iter().copied().map(in_words).collect();
    let higher: Vec<u8> = Tier::ALL.into_iter().filter(|other| *other > tier).map(Tier::number).collect();
    let budget = |budget: &opsctl_policy::model::rights::policy::Budget| {
        format!("{} in {}", budget.limit, budget.window)
    };
    let Inventory { hosts, services, .. } = &installation.inventory;
    let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    let destinations: Vec<&str> = hosts.iter().filter_map(|host| host.ssh.as_deref()).collect();
    let is_https = |service: &Service| service.health.iter().any(|health| health.url.starts_with("https:"));
    templates.get_template("prompt.md")?.render(context! {
        hosts => Value::from(Serde(views::hosts(&installation.inventory))),
        services => Value::from(Serde(views::checked_services(&installation.inventory))),
        verify => batches(&names),
        disks => batches(&destinations),
        engines => engines(services),
        certificates => services.iter().any(is_https),
        tier => context! {
            number => tier.number(),
            allow,
            higher,
            next => tier.above().map(Tier::number),
            deadline => policy.tier(tier).deadline.to_string(),
        },
        budgets => context! {
            restart => budget(&policy.restart),
            redeployment => budget(&policy.redeployment),
        },
        listed_hosts => policy.hosts == HostsAllowed::Inventory && !installation.inventory.hosts.is_empty(),
        deny => &policy.tier(tier).deny,
        only_reads => policy.tier(tier).effects == [Effect::Reads],
        never => never::in_force(&policy.rules, tier)
            .into_iter()
            .map(|(name, reason)| context! { name, reason })
            .collect::<Vec<_>>(),
    })
}

/// The engines that run the containers of the services; the default engine if they have none.
fn engines(services: &[Service]) -> Vec<&'static str> {
    let mut engines: Vec<&str> = services
        .iter()
        .filter(|service| !service.own_containers().is_empty())
        .map(|service| service.engine.program())
        .collect();
    engines.sort_unstable();
    engines.dedup();
    if engines.is_empty() { vec![Engine::default().program()] } else { engines }
}

/// The names, as many together as one command gets.
fn batches(names: &[&str]) -> Value {
    Value::from(Serde(names.chunks(BATCH).collect::<Vec<_>>()))
}

fn add_parts(templates: &mut Environment<'_>) -> Result<(), minijinja::Error> {
    PARTS.into_iter().try_for_each(|(name, text)| templates.add_template(name, text))
}

/// The name of a kind of action, in plural.
pub const fn in_words(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::Restart => "restarts",
        ActionKind::Redeployment => "redeployments",
        ActionKind::PullRequest => "pull requests",
        ActionKind::Notification => "notifications",
        ActionKind::Forbidden => "forbidden actions",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_inventory::load;

    fn prompts() -> [String; 3] {
        let installation = load::parse(include_str!("../../../hosts.yaml")).unwrap();
        Tier::ALL.map(|tier| render(tier, &installation).unwrap())
    }

    #[test]
    fn a_prompt_names_the_rights_of_its_tier_and_the_tiers_to_hand_over_to() {
        let [one, two, three] = prompts();
        assert!(one.contains("This tier changes nothing."), "{one}");
        assert!(two.contains("may carry out: restarts, pull requests, notifications."), "{two}");
        assert!(three.contains("may carry out: restarts, redeployments,"), "{three}");
        assert!(one.contains("\"recommended_tier\": 2,") && one.contains("is 2 or 3;"), "{one}");
        assert!(two.contains("\"recommended_tier\": 3,") && two.contains("is 3;"), "{two}");
        assert!(
            !three.contains("opsctl handoff write") && three.contains("There is no higher tier"),
            "{three}"
        );
    }

    const ADGUARD: &str = "- adguard on pie01: http https://adguard.stump.rocks/login answers 200 or 302, \
                           dns adguard.stump.rocks, container adguardhome; playbook redeploy-dns.yml\n";

    #[test]
    fn every_prompt_lists_all_services_and_hosts() {
        for prompt in prompts() {
            assert!(prompt.contains("- ie01 (192.168.100.210), reached by `ssh root@ie01`\n"), "{prompt}");
            assert!(prompt.contains(ADGUARD), "{prompt}");
            assert!(prompt.contains("unit nginx"), "{prompt}");
            assert!(
                !prompt.contains("\n\n\n") && !prompt.contains("{%") && prompt.ends_with(".\n"),
                "{prompt}"
            );
            assert!(prompt.lines().all(|line| line.trim_end() == line), "{prompt}");
        }
    }

    #[test]
    fn tier_1_checks_hosts_then_every_service_then_data() {
        let [one, _, _] = prompts();
        let steps = [
            "`opsctl hosts`",
            "\n       opsctl verify jellyfin adguard nginx\n",
            "for host in root@ie01 root@pie01 root@pie02 root@int01; do",
            "grep 'expire date'",
            "files of their `checks`",
            "- unhealthy: a check of the inventory fails.",
            "opsctl handoff write",
        ];
        let places: Vec<Option<usize>> = steps.iter().map(|step| one.find(step)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{one}");
    }

    /// An inventory with this number of services, each with all checks, on a host for every ten.
    fn inventory_of(services: usize) -> String {
        let hosts = (0..services.div_ceil(10))
            .map(|n| format!("  host{n}: {{address: 192.0.2.1, ssh: root@host{n}}}\n"));
        let lines = (0..services).map(|n| {
            format!("  service-{n:04}: {{host: host{}, tcp: [80], playbooks: [deploy-{n}.yml]}}\n", n / 10)
        });
        let (hosts, lines): (String, String) = (hosts.collect(), lines.collect());
        format!("domain: stump.rocks\nhosts:\n{hosts}services:\n{lines}")
    }

    #[test]
    fn a_prompt_names_each_of_a_thousand_services_and_stays_far_below_the_models_context() {
        for (services, most_bytes) in [(8, 14_000), (100, 34_000), (1000, 230_000)] {
            let installation = load::parse(&inventory_of(services)).unwrap();
            for tier in Tier::ALL {
                let prompt = render(tier, &installation).unwrap();
                assert!(prompt.len() < most_bytes, "tier {}, {services}: {}", tier.number(), prompt.len());
                let last = format!("service-{:04}", services - 1);
                assert!(prompt.contains(&format!("- {last} on host")), "{last}");
            }
            let prompt = render(Tier::Observe, &installation).unwrap();
            let commands = prompt.lines().filter_map(|line| line.trim_start().strip_prefix("opsctl verify "));
            let checked: Vec<&str> = commands.flat_map(str::split_whitespace).collect();
            let all: Vec<&str> = installation.inventory.services.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(checked, all);
        }
    }

    #[test]
    fn a_prompt_says_when_there_are_no_services() {
        let prompt = render(Tier::Observe, &Installation::default()).unwrap();
        assert!(prompt.contains("No service is listed."), "{prompt}");
    }
}
