//! Dry run: every action, change and unknown effect is denied, with a request to report it.

use super::tier::{describe, in_words, instead, is_own_account};
use crate::effects::PartEffect;
use crate::model::records::verdict::{Reason, ResolvedAction, each_once};
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::effect::Effect;

/// What operators see of a dry run.
pub const NOTICE: &str = "dry run: nothing is changed";

/// The objections to actions.
pub fn objections(actions: &[ResolvedAction]) -> Vec<Reason> {
    // A forbidden action is denied for its own reason.
    let acting = actions.iter().filter(|action| action.action.kind != ActionKind::Forbidden);
    // An action on several services is one sentence.
    each_once(acting.map(|action| reason(&format!("{} is not carried out", describe(action)), "")))
}

/// The objections to parts of a command that are not known to only read.
pub fn effect_objections(parts: &[PartEffect]) -> Vec<Reason> {
    let more = parts.iter().filter(|part| matches!(part.effect, Effect::Changes | Effect::Unknown));
    let more = more.filter(|part| !is_own_account(part));
    each_once(more.map(|part| reason(&in_words(part), &instead(part))))
}

fn reason(what: &str, instead: &str) -> Reason {
    let then = "State in the report what you would have done, and continue.";
    Reason::of("dry_run", format!("Dry run (CLAUDEOPS_DRY_RUN): {what}. {instead}{then}"))
}
