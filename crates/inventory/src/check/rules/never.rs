//! The rules about commands that are always denied.

use std::collections::BTreeSet;

use crate::check::ask::KEY_REMEDY;
use crate::check::values::check_name;
use crate::error::{Checked, Mistake, Mistakes, suggestion};
use crate::spanned::Spanned;
use crate::yaml::forms::{Entries, OneOrMore, TextOrMap, entries};
use crate::yaml::rules::{Answer, NeverWire};
use opsctl_policy::model::installation::inventory::{Inventory, ssh_host};
use opsctl_policy::model::rights::ask::Topic;
use opsctl_policy::model::rights::rules::{NeverRule, Off, Rules};
use opsctl_policy::rules::never;
use opsctl_policy::rules::never::{bomb, defaults, unread};
use opsctl_policy::rules::pattern::Pattern;

/// Checks the rules, adds them to `rules`, and returns what a person is asked about.
pub fn check(
    never: Option<Entries<TextOrMap<NeverWire>>>,
    inventory: &Inventory,
    has_key: bool,
    rules: &mut Rules,
    found: &mut Mistakes,
) -> Vec<Topic> {
    let mut asked = Vec::new();
    for (name, wire) in entries(never) {
        let wire = match wire {
            TextOrMap::Map(wire) => wire,
            TextOrMap::Text(text) => match found.keep(answer(&name, &text)) {
                Some(answer) => NeverWire { answer: Some(answer), ..NeverWire::default() },
                None => continue,
            },
        };
        let is_own = wire.answer.is_none() && wire.allow_on.is_empty() && wire.ask_on.is_empty();
        if is_own {
            rules.never.extend(check_own(name, wire, found));
            continue;
        }
        let named: Vec<&str> = defaults()
            .filter(|rule| rule.name == name.value || rule.class == name.value)
            .map(|rule| rule.name)
            .chain([bomb::NAME, unread::NAME].into_iter().filter(|rule| *rule == name.value))
            .collect();
        if named.is_empty() {
            let known = defaults().flat_map(|rule| [rule.class, rule.name]).chain([bomb::NAME, unread::NAME]);
            let remedy = suggestion(&name.value, known.collect::<BTreeSet<_>>());
            found.add(Mistake::of(&name, "is not a class or a default rule", remedy));
            continue;
        }
        if wire.argv.is_some() {
            found.add(Mistake::of(&name, "has `argv` and an answer", "remove one of the two"));
        }
        match wire.answer {
            Some(Answer::Allow) => {
                rules.off.push(Off { name: name.value.clone(), hosts: vec![], service: vec![] });
            }
            Some(Answer::Ask | Answer::Deny) | None => {}
        }
        if wire.answer == Some(Answer::Ask) || !wire.ask_on.is_empty() {
            let what = "is asked about, which needs `approval_key`";
            found.keep(Mistake::unless(has_key, &name, what, KEY_REMEDY));
            asked.extend(named.into_iter().map(|rule| Topic::Never(rule.to_owned())));
        }
        for (places, stated) in [(wire.allow_on, &mut rules.off), (wire.ask_on, &mut rules.ask_on)] {
            let places = found.keep_all(places.iter().map(|place| stated_place(place, inventory)));
            stated.extend(places.into_iter().map(|(hosts, service)| Off {
                name: name.value.clone(),
                hosts,
                service,
            }));
        }
    }
    asked
}

fn answer(name: &Spanned<String>, text: &str) -> Checked<Answer> {
    match text {
        "deny" => Ok(Answer::Deny),
        "ask" => Ok(Answer::Ask),
        "allow" => Ok(Answer::Allow),
        _ => {
            let what = format!("`{text}` is not an answer of `{}`", name.value);
            let remedy = "write `deny`, `ask` or `allow`, or a map with `argv`, `reason` and `matches`";
            Err(Mistake::at(name.referenced, what, remedy))
        }
    }
}

/// The ways in which commands name a host, `nas`, and those in which they name a service on it, `nas/jellyfin`.
fn stated_place(place: &Spanned<String>, inventory: &Inventory) -> Checked<(Vec<String>, Vec<String>)> {
    let Inventory { hosts, services, .. } = inventory;
    let (name, service) = place
        .value
        .split_once('/')
        .map_or((place.value.as_str(), None), |(host, service)| (host, Some(service)));
    let Some(host) = hosts.iter().find(|host| host.name == name) else {
        let remedy = suggestion(name, hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>());
        return Err(Mistake::of(place, "is not a host of `hosts`", remedy));
    };
    let there = services.iter().filter(|service| service.may_run_on(Some(name)));
    let parts = match service.map(|wanted| (wanted, there.clone().find(|service| service.name == wanted))) {
        None => vec![],
        Some((_, Some(service))) => service.part_names(),
        Some((wanted, None)) => {
            let known = there.map(|service| service.name.as_str()).collect::<Vec<_>>();
            let what = format!("is not a service of host `{name}`");
            return Err(Mistake::of(place, &what, suggestion(wanted, known)));
        }
    };
    let mut names = vec![host.name.clone()];
    names.push(host.address.clone());
    names.extend(host.ssh.as_deref().map(|ssh| ssh_host(ssh).to_owned()));
    names.dedup();
    Ok((names, parts))
}

fn check_own(name: Spanned<String>, wire: NeverWire, found: &mut Mistakes) -> Option<NeverRule> {
    let position = name.referenced;
    let name = found.keep(check_name(name))?;
    let missing =
        |key: &str, remedy: &str| Mistake::at(position, format!("rule `{name}` has no `{key}`"), remedy);
    let argv = wire.argv.ok_or_else(|| missing("argv", "add a pattern such as `argv: terraform destroy`"));
    let argv = found.keep(argv.and_then(check_patterns));
    let reason = wire.reason.filter(|reason| !reason.value.trim().is_empty()).ok_or_else(|| {
        missing("reason", "state why the command is denied and what to do instead; the agent reads it")
    });
    let reason = found.keep(reason);
    if wire.matches.is_empty() {
        let remedy = "add commands that the rule denies, such as `matches: [terraform destroy]`";
        found.add(missing("matches", remedy));
    }
    let rule = NeverRule {
        name: name.clone(),
        patterns: argv?,
        reason: reason?.value.trim().to_owned(),
        scope: wire.scope.unwrap_or_default(),
        tiers: wire.tiers,
    };
    for (examples, list, other, matches) in [
        (wire.matches, "matches", "differs", "does not match"),
        (wire.differs, "differs", "matches", "matches"),
    ] {
        let what = format!("is listed under `{list}`, but {matches} rule `{name}`");
        let remedy = format!("fix `argv`, or move the example to `{other}`");
        for example in examples {
            let is_valid = never::denies(&rule, &example.value) == (list == "matches");
            found.keep(Mistake::unless(is_valid, &example, &what, &remedy));
        }
    }
    Some(rule)
}

fn check_patterns(argv: Spanned<OneOrMore>) -> Checked<Vec<String>> {
    for text in &argv.value.0 {
        if let Err(problem) = Pattern::parse(text) {
            let what = format!("the pattern `{text}` {problem}");
            return Err(Mistake::at(argv.referenced, what, "docs/policy.md describes patterns"));
        }
    }
    Ok(argv.value.0)
}
