//! Who may do what: the rights of the tier that the session runs at.

use crate::model::action::ActionKind;
use crate::model::policy::{Policy, Tier};
use crate::model::verdict::{Reason, ResolvedAction};

/// The objection of the tier to an action, if it has one. `None` for a tier: no tier gate.
pub fn objection(action: &ResolvedAction, policy: &Policy, tier: Option<Tier>) -> Option<Reason> {
    let tier = tier?;
    let kind = action.action.kind;
    if kind == ActionKind::Forbidden || policy.tier(tier).allow.contains(&kind) {
        return None;
    }
    let way_out = match lowest_allowing(kind, policy, tier) {
        Some(higher) => format!(
            "Tier {0} may: end this session with a handoff.json that says why, with \"recommended_tier\": {0}.",
            higher.number()
        ),
        None => "No tier may: leave it to a person, and say in the report what is needed.".to_owned(),
    };
    Some(Reason {
        rule: "tier",
        text: format!("Tier {} may not carry out {}. {way_out}", tier.number(), describe(action)),
    })
}

fn lowest_allowing(kind: ActionKind, policy: &Policy, tier: Tier) -> Option<Tier> {
    std::iter::successors(tier.above(), |tier| tier.above())
        .find(|tier| policy.tier(*tier).allow.contains(&kind))
}

/// The action, its kind, its place: "a restart (`docker restart jellyfin`, on ie01 through ssh)".
pub fn describe(action: &ResolvedAction) -> String {
    let kind = match action.action.kind {
        ActionKind::Restart => "a restart",
        ActionKind::Redeployment => "a redeployment",
        ActionKind::PullRequest => "a pull request",
        ActionKind::Notification => "a notification",
        ActionKind::Forbidden => "a forbidden action",
    };
    let mut text = format!("{kind} (`{}`", action.action.evidence);
    if let Some(host) = &action.host {
        text.push_str(", on ");
        text.push_str(host);
    }
    if !action.action.via.is_empty() {
        text.push_str(if action.host.is_some() { " through " } else { ", through " });
        text.push_str(&action.action.via.join(", "));
    }
    text.push(')');
    text
}
