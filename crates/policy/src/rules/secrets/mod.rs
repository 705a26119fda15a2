//! Commands that print secrets of hosts, containers and services, as the descriptions of programs state.

mod engines;
mod filters;
mod found;
mod kept;
mod metadata;

use std::cell::OnceCell;

use crate::lists::{NAMED_SOURCES, VARIABLE_SOURCES};
use crate::model::records::verdict::Reason;
use crate::model::rights::tier::Tier;
use crate::selection::{self, Selected};
use found::{REDACTED, found};
use opsctl_reader::shell::{Command, Construct, Node, Script, Word};

/// Whether a command of a script prints secrets that are replaced before the model reads them.
pub fn are_redacted(script: &Script) -> bool {
    let is_redacted = |command: &&Command| found(command, script, |instead| instead == REDACTED).is_some();
    script.commands().iter().any(is_redacted)
}

/// The objections to the commands of a script that print secrets. At tier 1, none may be in a file for later.
pub fn objections(script: &Script, tier: Option<Tier>) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    let selected = OnceCell::new();
    script.visit(|node| {
        let (Node::Command(command) | Node::Group(Construct::Through(command), _)) = node else { return };
        let found = objection(command, script, &selected)
            .or_else(|| metadata::objection(command))
            .or_else(|| engines::objection(command, script.catalogue));
        reasons.extend(found.filter(|reason| !reasons.contains(reason)));
    });
    reasons.extend(filters::objection(script, kept::files).filter(|reason| !reasons.contains(reason)));
    if tier == Some(Tier::Observe) && reasons.is_empty() {
        reasons.extend(kept::objection(script));
    }
    reasons
}

fn objection(command: &Command, script: &Script, selected: &OnceCell<Selected>) -> Option<Reason> {
    let (evidence, instead) = found(command, script, |instead| instead != REDACTED)?;
    let selected = selected.get_or_init(|| selection::selected_from(script));
    let is_of = |list: &[*const Command]| list.contains(&std::ptr::from_ref(command));
    let is_named = NAMED_SOURCES.iter().any(|source| evidence.starts_with(source));
    if is_of(&selected.values)
        || is_named && is_of(&selected.lines)
        || is_of(&selected.names) && lists_variables(command)
    {
        return None;
    }
    let advice = match instead {
        "" => "If it matters, state in the report what an operator should check.".to_owned(),
        instead => format!("Use `{instead}`."),
    };
    let place = command.whereabouts();
    let text =
        format!("Secret: `{evidence}`{place} prints secrets, which must not enter this session. {advice}");
    Some(Reason::of("secret", text))
}

/// Whether a command prints variables of an environment, and has no further options.
fn lists_variables(command: &Command) -> bool {
    let words: Option<Vec<&str>> = command.words.iter().map(Word::known).collect();
    let Some(text) = words.map(|words| words.join(" ")) else { return false };
    let mut rest = VARIABLE_SOURCES.iter().filter_map(|source| text.strip_prefix(source));
    rest.any(|rest| rest.is_empty() || rest.starts_with(' ') && !rest.contains(" -"))
}

#[cfg(test)]
mod tests {
    use super::objections;
    use crate::cases::Cases;
    use crate::model::rights::tier::Tier;
    use opsctl_reader::shell::read;

    #[test]
    fn output_with_secrets_is_only_printed() {
        Cases::of("secrets").check(
            "output_in_which_secrets_are_replaced_is_not_kept_at_tier_1",
            |[tier, command]| {
                let tier = Tier::ALL.into_iter().find(|one| one.number().to_string() == tier);
                let found = objections(&read(command, None), tier);
                let part = |reason: &crate::model::records::verdict::Reason| {
                    reason.text.split('`').nth(1).map(str::to_owned)
                };
                found.iter().filter_map(part).collect::<Vec<_>>().join(" ")
            },
        );
    }
}
