//! The rules in the header of a compiled policy.

use serde::{Deserialize, Serialize};

use opsctl_policy::model::rights::policy::Policy;
use opsctl_policy::model::rights::rules::Rules;
use opsctl_reader::terms::effect::Effect;

/// The line of the header with the rules and what else holds for every command.
#[derive(Serialize, Deserialize)]
pub struct EnforcedRules {
    /// The rules about commands, files and tools, without the programs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rules: Rules,
    /// Command prefixes that are denied at tiers 1, 2 and 3, in this order.
    pub deny: [Vec<String>; 3],
    /// What commands of tiers 1, 2 and 3 may do, in this order.
    pub effects: [Vec<Effect>; 3],
    /// Whether secrets in the output of tools are replaced.
    pub redact_output: bool,
}

fn is_default(rules: &Rules) -> bool {
    *rules == Rules { catalogue: rules.catalogue, ..Rules::default() }
}

impl EnforcedRules {
    /// Those of a policy.
    pub fn of(policy: &Policy) -> Self {
        Self {
            rules: policy.rules.clone(),
            deny: policy.tiers.each_ref().map(|tier| tier.deny.clone()),
            effects: policy.tiers.each_ref().map(|tier| tier.effects.clone()),
            redact_output: policy.redact_output,
        }
    }
}
