//! The limits of tiers: actions, command prefixes and effects.

use super::pattern::{self, Pattern};
use crate::effects::{PartEffect, Why, consequence};
use crate::model::records::verdict::{Reason, ResolvedAction, each_once};
use crate::model::rights::ask::Topic;
use crate::model::rights::policy::{Policy, Tier};
use opsctl_reader::catalogue::base_name;
use opsctl_reader::shell::{Construct, Node, Script};
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::effect::Effect;
use opsctl_reader::terms::plain_text::{first_words, whereabouts};

/// The objection of the tier to an action. Without a tier, there is none.
pub fn objection(action: &ResolvedAction, policy: &Policy, tier: Option<Tier>) -> Option<Reason> {
    let tier = tier?;
    let kind = action.action.kind;
    if kind == ActionKind::Forbidden || policy.tier(tier).allow.contains(&kind) {
        return None;
    }
    let way_out = way_out(tier.higher().find(|tier| policy.tier(*tier).allow.contains(&kind)));
    let text = format!("Tier {} may not carry out {}. {way_out}", tier.number(), describe(action));
    Some(Reason { rule: "tier", topic: Some(Topic::Tier), text })
}

/// The objection to a command with a prefix that is denied at the tier, with options at any position and inside any
/// wrapper.
///
/// `deny` contains the prefixes for tiers 1, 2 and 3, in the notation of the client's `--disallowedTools`.
pub fn denied(script: &Script, deny: &[Vec<String>; 3], tier: Tier) -> Option<Reason> {
    let (prefix, location) = prefix_of(script, tier.of(deny).as_slice())?;
    let way_out = way_out(tier.higher().find(|tier| prefix_of(script, tier.of(deny).as_slice()).is_none()));
    let text = format!("Tier {} may not run `{prefix}`{location}. {way_out}", tier.number());
    Some(Reason { rule: "tier", topic: Some(Topic::Tier), text })
}

/// The maximum number of parts that a denial explains; further ones are counted.
const MOST_REASONS: usize = 8;

/// The advice where no tier allows what is not understood.
const UNKNOWN_TO_ALL: &str = "No tier may: use a command that opsctl knows, or state in the report what is needed. An \
     operator can describe a program in `programs` of hosts.yaml; `opsctl suggest` proposes how.";

/// The same where a command cannot be read, which no description of a program changes.
const UNREADABLE: &str = "No tier may: write it in a simpler form, such as several short commands, or state in the report \
     what is needed.";

/// The same where a word may be an option, which it is not behind `--`.
const MAYBE_OPTION: &str = "No tier may: if the program takes `--`, put it before such words (`wc -l -- \"$f\"`, \
     `xargs wc -l --`), or write the words themselves.";

/// The objections to parts of a command whose effect the tier does not allow.
///
/// `effects` states what commands of a tier may do where they carry out no action; actions are judged by their kind.
pub fn effect_objections(
    parts: &[PartEffect],
    effects: impl Fn(Tier) -> Vec<Effect>,
    tier: Tier,
) -> Vec<Reason> {
    let allowed = effects(tier);
    let denied = parts.iter().filter(|part| part.effect != Effect::Acts && !allowed.contains(&part.effect));
    let objection = |part: &PartEffect| {
        let way_out = match tier.higher().find(|higher| effects(*higher).contains(&part.effect)) {
            Some(higher) => way_out(Some(higher)),
            None if is_unread(part) => UNREADABLE.to_owned(),
            None if matches!(part.why, Why::MaybeOperand(_)) => MAYBE_OPTION.to_owned(),
            None if part.effect == Effect::Unknown && part.why != Why::Tool => UNKNOWN_TO_ALL.to_owned(),
            None => way_out(None),
        };
        let number = tier.number();
        let what = if allowed.contains(&Effect::Changes) && part.effect == Effect::Unknown {
            format!("only runs what opsctl understands, which excludes {}", with_reason(part, ""))
        } else {
            format!("only reads, and {}", in_words(part))
        };
        let text = format!("Tier {number} {what}. {}{way_out}", instead(part));
        Reason { rule: "effect", topic: topic(part), text }
    };
    let mut reasons = each_once(denied.filter(|part| !is_own_account(part)).map(objection));
    let more = reasons.len().saturating_sub(MOST_REASONS);
    if more > 0 {
        let topics: Vec<Option<Topic>> = reasons.drain(MOST_REASONS..).map(|reason| reason.topic).collect();
        // Nothing is asked about parts that differ in what is asked.
        let topic = topics
            .first()
            .cloned()
            .flatten()
            .filter(|first| topics.iter().all(|topic| topic.as_ref() == Some(first)));
        let text = format!("{more} further parts are not allowed for reasons of the same kind.");
        reasons.push(Reason { rule: "effect", topic, text });
    }
    reasons
}

fn is_unread(part: &PartEffect) -> bool {
    matches!(part.why, Why::Unread | Why::UnreadBecause(_))
}

/// What a person may be asked about a part whose effect the tier does not allow. A person cannot judge what cannot be read.
fn topic(part: &PartEffect) -> Option<Topic> {
    match part.effect {
        _ if is_unread(part) => None,
        Effect::Changes => Some(Topic::Changes),
        Effect::Unknown => Some(Topic::Unknown),
        Effect::Reads | Effect::Acts => None,
    }
}

/// The part and its effect: "`kubectl apply`, on ie01 through ssh, changes something: …". Of the command, it only
/// contains the program and its verb: the text is recorded, and other words may be secrets.
pub fn in_words(part: &PartEffect) -> String {
    let verdict =
        if part.effect == Effect::Changes { "changes something" } else { "is not known to only read" };
    let comma = if part.whereabouts.is_empty() { "" } else { "," };
    with_reason(part, &format!("{comma} {verdict}"))
}

/// The part, what is said of it, and the reason.
fn with_reason(part: &PartEffect, verdict: &str) -> String {
    let form = first_words(&part.form, 80).replace(char::is_control, "");
    let subject = if form.is_empty() { "a part of it".to_owned() } else { format!("`{form}`") };
    let why = if part.why == Why::Stated { String::new() } else { format!(": {}", part.why) };
    format!("{subject}{}{verdict}{why}", part.whereabouts)
}

/// The suggestion of a command that only reads; empty if the catalogue has none.
pub fn instead(part: &PartEffect) -> String {
    part.instead.map(|command| format!("To look only, use `{command}`. ")).unwrap_or_default()
}

/// Whether the part writes what the agent states about itself, which every tier may do: a hand-over that the command itself
/// contains, or its status.
pub fn is_own_account(part: &PartEffect) -> bool {
    let is_stated = part.whereabouts.is_empty() && !part.text.contains(" < ");
    is_stated && matches!(part.form.as_str(), "opsctl handoff write" | "opsctl sessions status")
}

/// The first matching prefix, and the host and wrappers of its command.
fn prefix_of<'a>(script: &Script, prefixes: &'a [String]) -> Option<(&'a str, String)> {
    let mut found = None;
    if prefixes.is_empty() {
        return found;
    }
    script.visit(|node| {
        if let Node::Command(command) | Node::Group(Construct::Through(command), _) = node
            && found.is_none()
        {
            let program = command.words.first().map(|word| base_name(&word.text));
            let is_quiet = || {
                let usage = script.catalogue.usage(&command.texts(), &|_| false);
                usage.is_some_and(|usage| consequence::is_quiet(command, &usage, script.catalogue))
            };
            found = prefixes
                .iter()
                .filter(|prefix| program.is_some_and(|program| pattern::concerns(prefix, program)))
                .find(|prefix| {
                    Pattern::parse(prefix)
                        .is_ok_and(|pattern| pattern.find(command, script.catalogue, &|_, _| false).is_some())
                        && !is_quiet()
                })
                .map(|prefix| (prefix.as_str(), command.whereabouts()));
        }
    });
    found
}

/// The advice of a denial: the tier that may run the command, or an operator.
fn way_out(higher: Option<Tier>) -> String {
    match higher {
        Some(higher) => format!(
            "Tier {0} may: end this session with a handoff.json that says why, with \"recommended_tier\": {0}.",
            higher.number()
        ),
        None => "No tier may: leave it to an operator, and state in the report what is needed.".to_owned(),
    }
}

/// The action, its kind and where it runs: "a restart (`docker restart jellyfin`, on ie01 through ssh)".
pub fn describe(action: &ResolvedAction) -> String {
    let kind = action.action.kind.in_words();
    let place = whereabouts(action.host.as_deref(), &action.action.via);
    format!("a {kind} (`{}`{place})", action.action.evidence)
}
