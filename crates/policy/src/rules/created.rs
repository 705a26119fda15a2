//! What is created from content that the session chose: with a redeployment, a service gets another version, and no new one
//! begins to run.

use super::never;
use super::tier::describe;
use crate::model::records::verdict::{Reason, ResolvedAction, each_once};
use crate::model::rights::ask::Topic;
use crate::model::rights::rules::Rules;
use opsctl_reader::terms::action::{ActionKind, Family, Verb};

/// The rule that denies it.
const NAME: &str = "engine";

/// The objections to containers and releases under names that `hosts.yaml` does not list.
pub fn objections(actions: &[ResolvedAction], rules: &Rules, is_listing: bool) -> Vec<Reason> {
    let creates = |action: &&ResolvedAction| {
        let is_run = action.action.kind == ActionKind::Redeployment
            && action.action.verb == Verb::Deploy
            && matches!(action.action.family, Family::Container | Family::Helm)
            && [" run ", " create ", " install ", " --install "]
                .iter()
                .any(|verb| action.action.evidence.contains(verb));
        is_run && !action.listed
    };
    let unlisted = actions.iter().filter(|_| is_listing && !never::is_allowed(rules, NAME)).filter(creates);
    each_once(unlisted.map(|action| {
        let text = format!(
            "Never allowed (rule {NAME}): {} would create a service that hosts.yaml does not list. A redeployment replaces a \
             listed one. State in the report what should run, and why.",
            describe(action)
        );
        Reason { rule: "never", topic: Some(Topic::Never(NAME.to_owned())), text }
    }))
}
