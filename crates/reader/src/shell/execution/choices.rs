//! Commands that mention something which branches have left behind differently: they are followed once for each value.

use super::join::possible;
use super::ways::Ways;
use crate::shell::Complaint;
use crate::shell::evaluator::{Evaluator, Ran};
use crate::shell::grammar::here::restore;
use crate::shell::script::{Construct, INHERITED, Node};
use crate::shell::shared::Shared;
use crate::shell::state::{Args, Shell, Value, Variable};
use crate::shell::text::Unknowns;

/// Maximum number of combinations of values for which a command is followed; what is beyond it has an unknown value.
const MOST_WAYS: usize = 16;

/// Builtins that do the same in every directory.
const ANYWHERE: [&str; 12] =
    ["echo", "printf", "true", "false", ":", "exit", "return", "break", "continue", "shift", "set", "local"];

/// Something that may be one of several.
enum Choice {
    Variable(String, Vec<Option<Variable>>),
    Args(Vec<Args>),
    Folder(Vec<Option<String>>),
}

impl Choice {
    fn len(&self) -> usize {
        match self {
            Self::Variable(_, choices) => choices.len(),
            Self::Args(choices) => choices.len(),
            Self::Folder(choices) => choices.len(),
        }
    }
}

impl Evaluator {
    /// Runs a part of a script, with this text, once for each combination of the values of what it mentions.
    pub fn in_each_way(
        &mut self,
        shell: &mut Shell,
        text: impl FnOnce() -> String,
        mut run: impl FnMut(&mut Self, &mut Shell) -> Ran,
    ) -> Ran {
        if !shell.has_choices {
            return run(self, shell);
        }
        let text = restore(&text(), &self.documents);
        let mut combinations = 1;
        let mut choices = choices_in(shell, &text);
        choices.retain(|choice| {
            let more = combinations * choice.len();
            let fits = more <= MOST_WAYS;
            combinations = if fits { more } else { combinations };
            fits
        });
        if choices.is_empty() {
            return run(self, shell);
        }
        let mut ways = Ways::default();
        let mut found = Vec::new();
        let mut status = None;
        for combination in 0..combinations {
            if self.exhausted() {
                break;
            }
            self.spend(1);
            let mut narrow = shell.clone();
            let mut left = combination;
            let mut is_inherited = false;
            for choice in &choices {
                is_inherited |= self.choose(&mut narrow, choice, left % choice.len());
                left /= choice.len();
            }
            let ((), nodes) = self.collected(|this| ways.run(this, narrow, &mut run));
            status =
                Some(status.map_or(self.status, |before| if before == self.status { before } else { None }));
            found.push((is_inherited, nodes));
        }
        self.status = status.flatten();
        self.push_alternatives(found);
        ways.end(self, shell)
    }

    /// What a command or a text may be, with each of the possible texts of its unknown stretches, and whether only the
    /// environment gives one of them. Beyond [`MOST_WAYS`], a stretch may be any text.
    pub fn combinations<T>(
        &mut self,
        shell: &Shell,
        whole: T,
        choice: impl Fn(&T, &Unknowns) -> Option<usize>,
        replaced: impl Fn(&T, &str, &str, bool) -> T,
    ) -> Vec<(bool, T)> {
        let mut waiting = vec![(false, whole)];
        let mut found = Vec::new();
        while let Some((is_inherited, part)) = waiting.pop().filter(|_| !self.exhausted()) {
            let Some(index) = choice(&part, &self.unknowns) else {
                found.push((is_inherited, part));
                continue;
            };
            let Some(unknown) = self.unknowns.get(index) else { continue };
            let (mut candidates, is_one_word) = (unknown.candidates.clone(), unknown.is_one_word);
            if waiting.len() + found.len() + candidates.len() > MOST_WAYS {
                let any = self.unknowns.many(unknown.source.clone());
                self.complain(Complaint::ManyValues);
                self.spend(1);
                candidates.retain(|text| self.mentions_action(text));
                if !candidates.is_empty() {
                    self.leave_out(shell, &candidates.join("\n"));
                }
                candidates = vec![any];
            }
            let mark = Unknowns::mark_of(index);
            for candidate in candidates.iter().rev() {
                let is_new = self.unknowns.only_mark(candidate).is_some_and(|unknown| unknown.is_inherited);
                waiting.push((is_inherited || is_new, replaced(&part, &mark, candidate, is_one_word)));
            }
        }
        found
    }

    /// Adds lists of nodes of which one runs; those with `true` are of a value that only the environment gives.
    pub fn push_alternatives(&mut self, found: Vec<(bool, Vec<Node>)>) {
        let mut distinct: Vec<(bool, Vec<Node>)> = Vec::new();
        for (is_inherited, nodes) in found {
            match distinct.iter_mut().find(|(_, known)| *known == nodes) {
                Some((known, _)) => *known &= is_inherited,
                None => distinct.push((is_inherited, nodes)),
            }
        }
        if let [(_, nodes)] = distinct.as_mut_slice() {
            for node in std::mem::take(nodes) {
                self.push(node);
            }
            return;
        }
        distinct.retain(|(_, nodes)| !nodes.is_empty());
        distinct.sort_by_key(|(is_inherited, _)| *is_inherited);
        let ways = distinct.into_iter().map(|(is_inherited, nodes)| {
            Node::Group(Construct::Branch(if is_inherited { INHERITED } else { "either" }), nodes)
        });
        let ways = ways.collect();
        self.push(Node::Group(Construct::OneOf, ways));
    }

    /// Chooses one; true if that is the value that only the environment gives.
    fn choose(&mut self, shell: &mut Shell, choice: &Choice, index: usize) -> bool {
        match choice {
            Choice::Variable(name, choices) => {
                let Some(variable) = choices.get(index).cloned().flatten() else {
                    Shared::make_mut(&mut shell.variables).remove(name.as_str());
                    return true;
                };
                let is_inherited = self.is_inherited(&variable.value);
                shell.put(name, variable);
                return is_inherited;
            }
            Choice::Args(choices) => shell.set_args(choices.get(index).cloned().flatten()),
            Choice::Folder(choices) => shell.enter(choices.get(index).cloned().flatten()),
        }
        false
    }

    fn is_inherited(&self, value: &Value) -> bool {
        let Value::Scalar(text) = value else { return false };
        self.unknowns.only_mark(text).is_some_and(|unknown| unknown.is_inherited)
    }
}

/// What a part with this text mentions and may be one of several, and what every program gets.
fn choices_in(shell: &Shell, text: &str) -> Vec<Choice> {
    let mut choices = Vec::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_program = !ANYWHERE.contains(&first) && !first.contains('=');
    let mut words: Vec<&str> = text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
    words.sort_unstable();
    let mentions = |name: &str| words.binary_search(&name).is_ok();
    for (name, variable) in shell.variables.iter().filter(|(_, variable)| variable.choices.is_some()) {
        if mentions(name) || (is_program && variable.exported) {
            choices.push(Choice::Variable(name.to_string(), possible(Some(variable))));
        }
    }
    let names_args = text.match_indices('$').any(|(at, _)| {
        let rest = text.get(at + 1..).unwrap_or_default();
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.trim_start_matches(['#', '!']).starts_with(|c: char| c.is_ascii_digit() || c == '@' || c == '*')
            || rest.starts_with('#')
    });
    let uses_args = names_args || ["shift", "getopts", "for"].into_iter().any(mentions);
    if uses_args && !shell.args_choices.is_empty() {
        choices.push(Choice::Args(shell.possible_args()));
    }
    if is_program && !shell.folders.is_empty() {
        choices.push(Choice::Folder(shell.possible_folders()));
    }
    choices
}
