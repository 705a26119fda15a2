//! Layer 4: the prompts of the tiers.

use minijinja::Environment;
use minijinja::context;
use minijinja::value::{Serde, Value};

use super::{templates, views};
use crate::inventory::Installation;
use crate::model::action::ActionKind;
use crate::model::effect::Effect;
use crate::model::policy::{HostsAllowed, Tier};
use crate::policy::never;

/// Templates that the prompts include.
const PARTS: [(&str, &str); 4] = [
    ("inventory.md", include_str!("../../templates/prompts/inventory.md.j2")),
    ("limits.md", include_str!("../../templates/prompts/limits.md.j2")),
    ("report.md", include_str!("../../templates/prompts/report.md.j2")),
    ("handover.md", include_str!("../../templates/prompts/handover.md.j2")),
];

const fn template(tier: Tier) -> &'static str {
    match tier {
        Tier::Observe => include_str!("../../templates/prompts/tier1-observe.md.j2"),
        Tier::Remediate => include_str!("../../templates/prompts/tier2-remediate.md.j2"),
        Tier::Full => include_str!("../../templates/prompts/tier3-full.md.j2"),
    }
}

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
    let budget = |budget: &crate::model::policy::Budget| format!("{} in {}", budget.limit, budget.window);
    templates.get_template("prompt.md")?.render(context! {
        hosts => Value::from(Serde(views::hosts(&installation.inventory))),
        services => Value::from(Serde(views::services(&installation.inventory))),
        tier => context! { number => tier.number(), allow, higher, next => tier.above().map(Tier::number) },
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
    use crate::inventory::load;

    fn prompts() -> [String; 3] {
        let installation = load::parse(include_str!("../../hosts.yaml")).unwrap();
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

    #[test]
    fn every_prompt_lists_all_services_and_hosts() {
        for prompt in prompts() {
            assert!(prompt.contains("- ie01 (192.168.100.210), reached by `ssh root@ie01`\n"), "{prompt}");
            assert!(prompt.contains("- adguard on pie01; container adguardhome; healthy when "), "{prompt}");
            assert!(prompt.contains("unit nginx"), "{prompt}");
            assert!(
                !prompt.contains("\n\n\n") && !prompt.contains("{%") && prompt.ends_with(".\n"),
                "{prompt}"
            );
            assert!(prompt.lines().all(|line| line.trim_end() == line), "{prompt}");
        }
    }

    #[test]
    fn a_prompt_says_when_there_are_no_services() {
        let prompt = render(Tier::Observe, &Installation::default()).unwrap();
        assert!(prompt.contains("No service is listed."), "{prompt}");
    }
}
