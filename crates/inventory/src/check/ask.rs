//! Questions to a person, and the key of their answers.

use crate::spanned::Spanned;

use super::values::is_name;
use crate::error::{Checked, Mistake, Mistakes, suggestion};
use crate::yaml::forms::{OneOrMore, TextOrMap};
use crate::yaml::policy::AskWire;
use opsctl_policy::model::rights::ask::{Ask, Topic};
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::rules::never::defaults;

/// What to do without a key. It also works before there is an image of this `hosts.yaml`.
pub const KEY_REMEDY: &str = "run `opsctl key`, with guard.yaml `docker compose --profile key run --rm key`, and add the line that it \
                              prints to `policy`: without it, no answer is accepted";

/// Checks what is asked. Questions need a key, because without one no answer is accepted.
pub fn check(
    wires: Vec<Spanned<TextOrMap<AskWire>>>,
    has_key: bool,
    rules: &Rules,
    found: &mut Mistakes,
) -> Vec<Ask> {
    if let Some(first) = wires.first().filter(|_| !has_key) {
        found.add(Mistake::at(first.referenced, "`ask` needs `approval_key`", KEY_REMEDY));
    }
    let mut asks: Vec<Ask> = Vec::new();
    for wire in wires {
        let (about, wire) = match wire.value {
            TextOrMap::Text(about) => (Spanned { value: about, referenced: wire.referenced }, None),
            TextOrMap::Map(wire) => (wire.about.clone(), Some(wire)),
        };
        let Some(topic) = found.keep(check_topic(&about, rules)) else { continue };
        let is_new = asks.iter().all(|ask| ask.topic != topic);
        found.keep(Mistake::unless(is_new, &about, "is asked about twice", "remove one of the two"));
        asks.push(
            wire.map_or_else(|| Ask::about(topic.clone()), |wire| check_map(topic.clone(), wire, found)),
        );
    }
    asks
}

fn check_topic(about: &Spanned<String>, rules: &Rules) -> Checked<Topic> {
    let topic = Topic::named(&about.value);
    let Topic::Never(name) = &topic else { return Ok(topic) };
    let names = known_names(rules);
    if names.contains(&name.as_str()) {
        return Ok(topic);
    }
    Err(Mistake::of(about, "is nothing that can be asked about", suggestion(name, names)))
}

/// The names of topics, of classes, and of always-denied commands.
pub fn known_names(rules: &Rules) -> Vec<&str> {
    let fixed = Topic::FIXED.iter().map(|(name, _)| *name);
    let own = rules.never.iter().map(|rule| rule.name.as_str());
    fixed.chain(own).chain(defaults().map(|rule| rule.name)).collect()
}

fn check_map(topic: Topic, wire: AskWire, found: &mut Mistakes) -> Ask {
    let default = Ask::about(topic);
    Ask {
        timeout: wire.timeout.unwrap_or(default.timeout),
        window: wire.window.unwrap_or(default.window),
        limit: wire.limit.unwrap_or(default.limit),
        total: wire.total.unwrap_or(default.total),
        contact: wire.contact.and_then(|tags| found.keep(check_tags(tags))).unwrap_or_default(),
        topic: default.topic,
    }
}

fn check_tags(tags: Spanned<OneOrMore>) -> Checked<Vec<String>> {
    match tags.value.0.iter().find(|tag| !is_name(tag)) {
        Some(wrong) => Err(Mistake::at(
            tags.referenced,
            format!("`{wrong}` is not a tag of a notification target"),
            "start with a letter or digit, and use letters, digits, `.`, `_` and `-`",
        )),
        None => Ok(tags.value.0),
    }
}
