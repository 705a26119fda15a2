//! The rules that are enforced on every command.

use super::policy::{Tier, TierPolicy};
use super::rules::Rules;
use opsctl_reader::terms::effect::Effect;

/// The part of a policy that is enforced on every command, including those without an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyHeader {
    /// The tier that the files are rendered for, if any.
    pub tier: Option<Tier>,
    /// The rules about commands, files and tools.
    pub rules: Rules,
    /// Command prefixes that are denied at tiers 1, 2 and 3, in this order.
    pub deny: [Vec<String>; 3],
    /// What commands of tiers 1, 2 and 3 may do where they carry out no action, in this order; `None`: the defaults.
    pub effects: Option<[Vec<Effect>; 3]>,
    /// Whether secrets in the output of tools are replaced.
    pub redact_output: bool,
}

impl Default for PolicyHeader {
    fn default() -> Self {
        let deny = Tier::ALL.map(TierPolicy::default_deny);
        Self { tier: None, rules: Rules::default(), deny, effects: None, redact_output: true }
    }
}

impl PolicyHeader {
    /// The defaults with an inventory that states no rules.
    pub fn of_plain_inventory() -> Self {
        Self { effects: Some(Tier::ALL.map(TierPolicy::understood_effects)), ..Self::default() }
    }

    /// What commands of a tier may do where they carry out no action.
    pub fn effects(&self, tier: Tier) -> Vec<Effect> {
        let stated = self.effects.as_ref().map(|effects| tier.of(effects).clone());
        stated.unwrap_or_else(|| TierPolicy::default_effects(tier))
    }
}
