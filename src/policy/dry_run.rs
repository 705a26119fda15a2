//! A dry run changes nothing: what would be done is denied, and told.

use super::tier::describe;
use crate::model::action::ActionKind;
use crate::model::verdict::{Reason, ResolvedAction};

/// The objections to actions.
pub fn objections(actions: &[ResolvedAction]) -> Vec<Reason> {
    // What nobody may do is denied for its own reason.
    let acting = actions.iter().filter(|action| action.action.kind != ActionKind::Forbidden);
    acting.map(|action| reason(&format!("{} is not carried out", describe(action)))).collect()
}

/// The objection to a tool that writes a file.
pub fn file_objection(path: &str) -> Reason {
    let shown: String = path.chars().filter(|c| !c.is_control()).take(120).collect();
    reason(&format!("`{shown}` is not written"))
}

fn reason(what: &str) -> Reason {
    Reason {
        rule: "dry_run",
        text: format!(
            "Dry run (CLAUDEOPS_DRY_RUN): {what}. Say in the report what you would have done, and go on."
        ),
    }
}
