//! Layer 4: the prompts of the tiers.

use minijinja::context;
use minijinja::value::{Serde, Value};

use super::{templates, views};
use opsctl_inventory::Installation;
use opsctl_policy::model::installation::checks::Engine;
use opsctl_policy::model::installation::inventory::{Inventory, Service};
use opsctl_policy::model::rights::ask::Topic;
use opsctl_policy::model::rights::policy::{Budget, HostBudget, HostsAllowed, Tier};
use opsctl_policy::model::rights::rules::Off;
use opsctl_policy::rules::never;
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::effect::Effect;

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

/// Renders the prompt of the verifier of a model. `opsctl` is the command that it calls.
pub fn verifier(installation: &Installation, opsctl: &str) -> Result<String, minijinja::Error> {
    let services = Value::from(Serde(views::services(&installation.inventory)));
    templates::environment()?.get_template("verify-remediation.md")?.render(context! { opsctl, services })
}

/// Renders the prompt of a tier.
pub fn render(tier: Tier, installation: &Installation) -> Result<String, minijinja::Error> {
    let templates = templates::environment()?;
    let path = path(tier);
    let template = templates.get_template(path.rsplit('/').next().unwrap_or(path))?;
    let policy = &installation.policy;
    let rights = policy.tier(tier);
    let in_plural = |kind: ActionKind| kind.in_words() + "s";
    let allow: Vec<String> = rights.allow.iter().copied().map(in_plural).collect();
    let is_refused = |kind: &ActionKind| *kind != ActionKind::Forbidden && !rights.allow.contains(kind);
    let refuse: Vec<String> = ActionKind::ALL.into_iter().filter(is_refused).map(in_plural).collect();
    let higher: Vec<u8> = Tier::ALL.into_iter().filter(|other| *other > tier).map(Tier::number).collect();
    let Inventory { hosts, services, .. } = &installation.inventory;
    let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    let destinations: Vec<&str> = hosts.iter().filter_map(|host| host.ssh.as_deref()).collect();
    let is_https = |service: &Service| service.health.iter().any(|health| health.url.starts_with("https:"));
    let is_asked = |name: &str| {
        !never::is_asked_on_places(&policy.rules, name)
            && policy.ask.iter().any(|ask| matches!(&ask.topic, Topic::Never(asked) if asked == name))
    };
    let rules_where = |asked: bool| {
        let rules = never::in_force(&policy.rules, tier).into_iter();
        let found = rules.filter(|(name, _)| is_asked(name) == asked);
        found.map(|(name, reason)| context! { name, reason }).collect::<Vec<_>>()
    };
    template.render(context! {
        hosts => Value::from(Serde(hosts)),
        services => Value::from(Serde(views::checked_services(&installation.inventory))),
        verify => batches(&names),
        disks => batches(&destinations),
        engines => engines(services),
        certificates => services.iter().any(is_https),
        tier => context! {
            number => tier.number(),
            allow,
            refuse,
            higher,
            next => tier.above().map(Tier::number),
            deadline => rights.deadline.to_string(),
        },
        budgets => context! {
            restart => in_window(&policy.restart),
            redeployment => in_window(&policy.redeployment),
            hosts => policy.host_budgets.iter().map(of_host).collect::<Vec<_>>(),
        },
        listed_hosts => policy.hosts == HostsAllowed::Inventory && !installation.inventory.hosts.is_empty(),
        deny => &rights.deny,
        effects => context! {
            only_reads => rights.effects == [Effect::Reads],
            changes => rights.effects.contains(&Effect::Changes),
            unknown => rights.effects.contains(&Effect::Unknown),
        },
        never => rules_where(false),
        never_asked => rules_where(true),
        never_off => places(&policy.rules.off, &installation.inventory),
        never_asked_on => places(&policy.rules.ask_on, &installation.inventory),
    })
}

/// The hosts on which a rule or a class is allowed or asked about that is denied elsewhere.
fn places(stated: &[Off], inventory: &Inventory) -> Vec<Value> {
    let place = |off: &Off| {
        let hosts: Vec<String> =
            off.hosts.iter().filter(|name| inventory.host(name).is_some()).cloned().collect();
        (!hosts.is_empty())
            .then(|| context! { name => off.name.clone(), hosts, service => off.service.first() })
    };
    stated.iter().filter_map(place).collect()
}

/// The budgets of a host.
fn of_host(host: &HostBudget) -> Value {
    let budgets = host.budgets().map(|(kind, budget)| format!("{kind}s, {}", in_window(budget)));
    context! { name => &host.host, budgets => budgets.collect::<Vec<_>>().join("; ") }
}

fn in_window(budget: &Budget) -> String {
    format!("{} in {}", budget.limit, budget.window)
}

/// The engines that run the containers of the services; the default engine if they have none.
fn engines(services: &[Service]) -> Vec<&'static str> {
    let mut engines: Vec<&str> = services
        .iter()
        .filter(|service| !service.own_containers().is_empty())
        .map(|service| service.engine.as_str())
        .collect();
    engines.sort_unstable();
    engines.dedup();
    if engines.is_empty() { vec![Engine::default().as_str()] } else { engines }
}

/// The names, as many together as one command gets.
fn batches(names: &[&str]) -> Value {
    Value::from(Serde(names.chunks(BATCH).collect::<Vec<_>>()))
}
