//! `ansible-playbook`.

use crate::actions::call::Call;
use crate::catalogue::base_name;
use crate::catalogue::program::Role;
use crate::languages::names::manifests as names;
use crate::manifest::playbook;
use crate::shell::{Word, pairs};
use crate::terms::action::{Action, Family, Playbook, Target};

pub(in crate::actions) fn find_actions(call: &Call<'_>, actions: &mut Vec<Action>) {
    let options = &call.own;
    let role = |role| call.usage.role(role);
    let stated =
        options.values(&role(Role::Variables)).fold(None, |last, word| stated_service(word).or(last));
    let listed = role(Role::Tags);
    let mut tags = options.values(&listed).flat_map(|tags| tags.text.split(','));
    let tag = tags.next().filter(|tag| !tag.is_empty() && *tag != "all" && !tag.contains('$'));
    let tag = if tags.next().is_some() { None } else { tag };
    for word in call.targets() {
        let file = word.known().map(base_name);
        // The name of a file that the same text writes says less than what is in it.
        let content = |is_written: bool| {
            let files = call.line.command.stated.as_ref().filter(|files| files.is_written == is_written);
            playbook::service(files?.texts.first()?)
        };
        let guessed =
            content(true).or_else(|| file.and_then(guess)).or_else(|| file.and(tag).map(str::to_owned));
        let guessed = guessed.or_else(|| content(false));
        let evidence = file.map_or_else(|| call.words(), |file| call.evidence(file));
        let playbook = Playbook { file: file.map(str::to_owned), stated: stated.clone(), guessed };
        actions.push(call.action(Family::Ansible, Target::Playbook(playbook), evidence));
    }
}

/// The service in the file name of a playbook.
fn guess(file: &str) -> Option<String> {
    let stem = file.rsplit_once('.').map_or(file, |(stem, extension)| {
        if matches!(extension, "yml" | "yaml" | "json") { stem } else { file }
    });
    let mut rest = stem;
    loop {
        let before = rest;
        for verb in names::PLAYBOOK_VERBS.iter() {
            if let Some(after) = rest.strip_prefix(verb).and_then(|after| after.strip_prefix(['-', '_'])) {
                rest = after;
            }
            if let Some(front) = rest.strip_suffix(verb).and_then(|front| front.strip_suffix(['-', '_'])) {
                rest = front;
            }
        }
        if rest == before {
            break;
        }
    }
    let says_nothing =
        rest.is_empty() || names::PLAYBOOK_GENERAL.has(rest) || names::PLAYBOOK_VERBS.has(rest);
    (!says_nothing).then(|| rest.to_owned())
}

/// The service in one `-e`: `a=b service=x`, JSON, or YAML in one line; not `@file`.
fn stated_service(word: &Word) -> Option<String> {
    let text = word.text.trim();
    if text.starts_with('@') {
        return None;
    }
    let pairs = pairs(text);
    let known =
        |value: &&(String, String)| word.unknown.is_none() || word.prefix().contains(value.1.as_str());
    names::SERVICE_VARIABLES.iter().find_map(|key| {
        let pair = pairs.iter().rev().filter(known).find(|(name, value)| name == key && !value.is_empty())?;
        Some(pair.1.clone())
    })
}
