//! What is held against a tool call whatever it acts on: the rules about commands.

use crate::inventory::compiled::Head;
use crate::model::policy::Tier;
use crate::model::verdict::Reason;
use crate::policy::{never, tier};
use crate::runtime::machine::Machine;
use crate::shell::Script;

/// The objections to a command.
pub fn objections(script: &Script, head: &Head, tier: Option<Tier>) -> Vec<Reason> {
    let tier = tier.or(head.tier);
    let mut reasons = never::objections(script, &head.rules, tier, &Machine);
    reasons.extend(tier.and_then(|tier| tier::denied(script, &head.deny, tier)));
    reasons
}
