//! What is probably not meant in a `hosts.yaml` that is valid: contradictions, rules that change nothing, services that nothing can act on.

use std::collections::BTreeMap;
use std::fmt::Display;

use opsctl_inventory::Installation;
use opsctl_policy::model::installation::inventory::Service;
use opsctl_policy::model::rights::ask::Topic;
use opsctl_policy::model::rights::policy::{Policy, Tier};
use opsctl_policy::model::rights::rules::PathRule;
use opsctl_policy::rules::never;
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::effect::Effect;
use serde::Serialize;

/// What is probably not meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The key.
    pub at: String,
    /// What is wrong with it.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// Commands that every policy allows: a rule that denies one of them denies nearly everything.
const HARMLESS: [&str; 4] = ["true", "ls -la /srv", "docker ps", "ssh nas uptime"];

/// All findings, in the order of the file.
pub fn findings(installation: &Installation) -> Vec<Finding> {
    let mut lint = Lint(vec![]);
    lint.services(installation);
    lint.budgets(&installation.policy);
    lint.tiers(&installation.policy);
    lint.rules(&installation.policy);
    lint.asks(&installation.policy);
    lint.monitor(&installation.policy);
    lint.0
}

struct Lint(Vec<Finding>);

impl Lint {
    fn add(&mut self, at: impl Display, what: impl Display, remedy: impl Display) {
        self.0.push(Finding { at: at.to_string(), what: what.to_string(), remedy: remedy.to_string() });
    }

    /// Services that nothing can act on, and names that stand for several things.
    fn services(&mut self, installation: &Installation) {
        let inventory = &installation.inventory;
        let mut owners: BTreeMap<(Option<&str>, String), Vec<&str>> = BTreeMap::new();
        for service in &inventory.services {
            let at = format!("services.{}", service.name);
            let host = service.host.as_deref();
            let listed = host.and_then(|name| inventory.hosts.iter().find(|host| host.name == name));
            if listed.is_some_and(|host| host.ssh.is_none()) && is_on_host(service) {
                self.add(
                    &at,
                    format!(
                        "host {} has no `ssh`, so no command reaches its containers and units",
                        host.unwrap_or_default()
                    ),
                    "state `ssh: USER@HOST` of the host, if the agent shall act there",
                );
            }
            if inventory.hosts.iter().any(|host| host.name == service.name) {
                self.add(
                    &at,
                    "has the name of a host",
                    "give one of the two another name: commands name both alike",
                );
            }
            for need in service.needs.iter().filter(|need| **need == service.name) {
                self.add(&at, format!("needs itself (`{need}`)"), "remove it from `needs`");
            }
            let mut parts = service.part_names();
            parts.dedup();
            for part in parts {
                owners.entry((host, part)).or_default().push(&service.name);
            }
        }
        for ((host, name), services) in owners {
            let mut services = services;
            services.dedup();
            if let [first, second, ..] = services.as_slice() {
                let host = host.map(|host| format!(" on {host}")).unwrap_or_default();
                self.add(
                    format!("services.{second}"),
                    format!("`{name}`{host} also belongs to {first}, whose budget it draws on"),
                    "list each container, unit and workload once",
                );
            }
        }
    }

    /// Budgets that can never be used.
    fn budgets(&mut self, policy: &Policy) {
        for (kind, budget) in
            [(ActionKind::Restart, &policy.restart), (ActionKind::Redeployment, &policy.redeployment)]
        {
            let is_allowed = policy.tiers.iter().any(|tier| tier.allow.contains(&kind));
            if budget.limit == 0 && is_allowed {
                self.add(format!("policy.{}.limit", kind.as_str()), "is 0, while a tier allows the action",
                    "remove the action from `policy.tiers`, so that the agent is not sent to a tier that cannot help");
            }
        }
    }

    /// What no tier allows, and tiers that allow less than the one below.
    fn tiers(&mut self, policy: &Policy) {
        for kind in
            [ActionKind::Restart, ActionKind::Redeployment, ActionKind::PullRequest, ActionKind::Notification]
        {
            if policy.tiers.iter().all(|tier| !tier.allow.contains(&kind)) {
                self.add(
                    "policy.tiers",
                    format!("no tier allows a {}", kind.as_str().replace('_', " ")),
                    "list it in `allow` of a tier, if it is meant to happen at all",
                );
            }
        }
        for (below, number) in policy.tiers.iter().zip(2..) {
            let Some(above) = Tier::from_number(number).map(|tier| policy.tier(tier)) else { continue };
            let lost: Vec<&str> = below
                .allow
                .iter()
                .filter(|kind| !above.allow.contains(kind))
                .map(|kind| kind.as_str())
                .collect();
            if !lost.is_empty() {
                self.add(
                    format!("policy.tiers.{number}.allow"),
                    format!("lacks {}, which the tier below allows", lost.join(", ")),
                    "a hand-over goes upwards: allow it there, too",
                );
            }
            let lost: Vec<&Effect> =
                below.effects.iter().filter(|effect| !above.effects.contains(effect)).collect();
            if !lost.is_empty() {
                self.add(
                    format!("policy.tiers.{number}.effects"),
                    "lacks an effect that the tier below allows",
                    "allow it there, too",
                );
            }
        }
    }

    /// Rules that deny nearly everything, and paths that other rules cover already.
    fn rules(&mut self, policy: &Policy) {
        let rules = &policy.rules;
        for rule in &rules.never {
            if let Some(command) = HARMLESS.iter().find(|command| never::denies(rule, command)) {
                self.add(
                    format!("policy.never.{}", rule.name),
                    format!("also denies `{command}`"),
                    "make its pattern narrower",
                );
            }
            if rules.off.iter().any(|off| off.name == rule.name && off.hosts.is_empty()) {
                self.add(
                    format!("policy.never.{}", rule.name),
                    "is allowed and has patterns of its own",
                    "state one of both",
                );
            }
        }
        for (key, paths) in [("protect", &rules.protect), ("secret", &rules.secret)] {
            self.paths(key, paths);
        }
        for (at, folder) in rules.data.iter().enumerate() {
            let covers = |other: &&String| {
                *other != folder && folder.starts_with(&format!("{}/", other.trim_end_matches('/')))
            };
            if let Some(outer) = rules.data.iter().find(covers) {
                self.add(
                    format!("policy.data[{at}]"),
                    format!("`{folder}` is below `{outer}`, which covers it"),
                    "remove it",
                );
            }
            if rules.data.iter().take(at).any(|other| other == folder) {
                self.add(
                    format!("policy.data[{at}]"),
                    format!("`{folder}` is listed twice"),
                    "remove one of the two",
                );
            }
        }
    }

    fn paths(&mut self, key: &str, paths: &[PathRule]) {
        for (at, rule) in paths.iter().enumerate() {
            if paths.iter().skip(at + 1).any(|later| later.glob == rule.glob && later.scope == rule.scope) {
                self.add(
                    format!("policy.{key}[{at}]"),
                    format!("`{}` is stated again later, and the last one decides", rule.glob),
                    "remove this one",
                );
            }
            if matches!(rule.glob.as_str(), "**" | "/**" | "*") {
                self.add(
                    format!("policy.{key}[{at}]"),
                    format!("`{}` matches every file", rule.glob),
                    "name a folder",
                );
            }
        }
    }

    /// Questions that are never asked.
    fn asks(&mut self, policy: &Policy) {
        let is_off = |name: &str| {
            policy
                .rules
                .off
                .iter()
                .any(|off| off.name == name && off.hosts.is_empty() && off.service.is_empty())
        };
        for ask in &policy.ask {
            let never_denied = match &ask.topic {
                Topic::Exclusive => policy.exclusive.is_none(),
                Topic::Unknown => policy.tiers.iter().all(|tier| tier.effects.contains(&Effect::Unknown)),
                Topic::Changes => policy.tiers.iter().all(|tier| tier.effects.contains(&Effect::Changes)),
                Topic::Never(name) => is_off(name),
                Topic::Budget | Topic::Tier => false,
            };
            if never_denied {
                self.add(
                    "policy.ask",
                    format!("`{}` is never denied, so it is never asked about", ask.topic.as_str()),
                    "remove it",
                );
            }
            if policy.monitor.everything || policy.monitor.rules.iter().any(|rule| rule == ask.topic.as_str())
            {
                self.add(
                    "policy.ask",
                    format!("`{}` is only watched, so it is never asked about", ask.topic.as_str()),
                    "enforce it, or remove it",
                );
            }
        }
    }

    /// Keys of `monitor` without effect.
    fn monitor(&mut self, policy: &Policy) {
        let monitor = &policy.monitor;
        let is_partial = !monitor.rules.is_empty()
            || !monitor.budgets.is_empty()
            || !monitor.tiers.is_empty()
            || !monitor.hosts.is_empty()
            || !monitor.gates.is_empty();
        if monitor.everything && is_partial {
            self.add(
                "policy.monitor",
                "has no effect with `mode: monitor`, which watches everything",
                "remove one of the two",
            );
        }
    }
}

/// Whether it runs on its host itself, where only ssh reaches it.
fn is_on_host(service: &Service) -> bool {
    service.workloads.is_empty()
        && service.releases.is_empty()
        && service.playbooks.is_empty()
        && service.guests.is_empty()
}
