//! What a command does to the world, proved strictly: it reads only where every word of it is understood.
//!
//! The catalogue states what the forms of programs do and on which conditions; `prover` checks the conditions. Doubt
//! falls towards unknown.

mod ansible;
mod code;
pub mod consequence;
mod content;
mod find;
pub mod http;
mod key_value;
mod leaving;
mod lines;
mod options;
mod proof;
mod prover;
mod reason;
mod scratch;
mod scripts;
mod socket;
mod surroundings;

use std::cell::OnceCell;

use crate::model::rights::rules::Rules;
use crate::paths::glob::matches;
use crate::paths::word_paths::LocalMachine;
use crate::targets::hosts;
use opsctl_reader::actions::request_class;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::shell::{Command, Construct, Node, Script};
use opsctl_reader::terms::effect::Effect;
pub use proof::{PartEffect, Scratch};
use prover::Prover;
pub use reason::Why;
pub use scratch::is_scratch;

/// The effect of each command of a script, in the order of the text.
pub fn parts(
    script: &Script,
    scratch: &Scratch,
    rules: &Rules,
    machine: &dyn LocalMachine,
) -> Vec<PartEffect> {
    let (cwd, protect) = (script.cwd.as_deref(), OnceCell::new());
    let mut calls = Vec::new();
    script.visit(|node| {
        if let Node::Group(Construct::Call(name), _) = node {
            calls.push(name.clone());
        }
    });
    let prover = Prover { catalogue: script.catalogue, scratch, rules, protect, machine, cwd, calls };
    let mut parts = Vec::new();
    let of = |command: &Command, runs: bool| {
        let (effect, why) = prover.command(command, runs);
        let texts = command.texts();
        let usage = script.catalogue.usage(&texts, &|_| false);
        let sends_to = usage.as_ref().map(|usage| leaving::destinations(command, usage, &texts));
        let is_undescribed = effect != Effect::Acts && request_class(command, script.catalogue).is_none();
        let requesting = usage.as_ref().filter(|_| is_undescribed);
        PartEffect {
            form: form(command, usage.as_ref(), &texts),
            whereabouts: command.whereabouts(),
            hosts: hosts::named(command, usage.as_ref(), &texts),
            sends_to: sends_to.unwrap_or_default(),
            reveals_to: usage
                .as_ref()
                .map(|usage| leaving::revealed(command, usage, &texts))
                .unwrap_or_default(),
            logs_in_at: leaving::logs_in(command, &texts),
            changes_at: requesting.map(|usage| leaving::changed(command, usage, &texts)).unwrap_or_default(),
            instead: usage.and_then(|usage| usage.instead(&texts)),
            ..PartEffect::of(command.to_string(), effect, why)
        }
    };
    let complaint = || script.complaints.first().map(|one| Why::UnreadBecause(one.to_string()));
    let unread = |text| PartEffect::of(text, Effect::Unknown, complaint().unwrap_or(Why::Unread));
    script.visit(|node| match node {
        Node::Command(command) => parts.push(of(command, false)),
        Node::Group(Construct::Through(command), inner) => parts.push(of(command, !inner.is_empty())),
        Node::Group(..) => {}
        Node::Unread(text) => parts.push(unread(text.text.clone())),
    });
    let in_scratch = |file: &&String| scratch.0.iter().any(|glob| matches(glob, file));
    // Its text was read, but may be another one when it runs.
    let replaceable =
        |file: &String| PartEffect::of(file.clone(), Effect::Changes, Why::ScriptInScratch(file.clone()));
    parts.extend(script.files.iter().filter(in_scratch).map(replaceable));
    if script.has_doubtful_file {
        parts.push(PartEffect::of(String::new(), Effect::Unknown, Why::DoubtfulFolder));
    }
    if !script.complaints.is_empty() && !parts.iter().any(|part| part.effect == Effect::Unknown) {
        parts.push(unread(script.complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")));
    }
    parts
}

/// The program and verb of a command; a program that only the run knows is left out.
fn form(command: &Command, usage: Option<&Usage>, texts: &[&str]) -> String {
    let known = command.words.first().is_some_and(|word| word.known().is_some());
    match usage {
        Some(usage) if known => usage.named(texts),
        _ if known => texts.first().map_or("", |name| base_name(name)).to_owned(),
        _ => String::new(),
    }
}

/// The strongest effect of these parts; without any, it reads.
pub fn strongest(parts: &[PartEffect]) -> Effect {
    parts.iter().map(|part| part.effect).max().unwrap_or(Effect::Reads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::Cases;
    use crate::paths::word_paths::UnknownMachine;

    #[test]
    fn effects_are_those_of_the_rows() {
        Cases::of("effects").check("the_effect_of_a_command_follows_from_all_of_it", |[command]| {
            let script = opsctl_reader::shell::read(command, Some("/app"));
            strongest(&parts(&script, &Scratch::default(), &Rules::default(), &UnknownMachine))
                .as_str()
                .to_owned()
        });
    }
}
