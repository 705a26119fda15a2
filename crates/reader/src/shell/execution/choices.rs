//! Commands that mention something which branches have left behind differently: they are followed once for each value.

use std::rc::Rc;

use super::join::possible;
use super::ways::Ways;
use crate::shell::evaluator::{Evaluator, Ran};
use crate::shell::grammar::here::restore;
use crate::shell::script::{Construct, Node};
use crate::shell::state::{Args, Shell, Variable, is_same};

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
        let mut found: Vec<Vec<Node>> = Vec::new();
        let mut status = None;
        for combination in 0..combinations {
            if self.exhausted() {
                break;
            }
            self.spend(1);
            let mut narrow = shell.clone();
            let mut left = combination;
            for choice in &choices {
                self.choose(&mut narrow, choice, left % choice.len());
                left /= choice.len();
            }
            let ((), nodes) = self.collected(|this| {
                ways.run(this, narrow.clone(), |this, state| {
                    let ran = run(this, state);
                    for choice in &choices {
                        reopen(state, choice, &narrow, shell);
                    }
                    ran
                });
            });
            status = Some(status.map_or(self.status, |before| if before == self.status { before } else { None }));
            if !found.contains(&nodes) {
                found.push(nodes);
            }
        }
        self.status = status.flatten();
        self.push_alternatives(found);
        ways.end(self, shell)
    }

    /// Adds lists of nodes of which one runs.
    pub fn push_alternatives(&mut self, mut found: Vec<Vec<Node>>) {
        if found.len() < 2 {
            found.into_iter().flatten().for_each(|node| self.push(node));
            return;
        }
        found.retain(|nodes| !nodes.is_empty());
        let ways = found.into_iter().map(|nodes| Node::Group(Construct::Branch("either"), nodes)).collect();
        self.push(Node::Group(Construct::OneOf, ways));
    }

    fn choose(&mut self, shell: &mut Shell, choice: &Choice, index: usize) {
        match choice {
            Choice::Variable(name, choices) => match choices.get(index).cloned().flatten() {
                Some(variable) => {
                    let exported = variable.exported;
                    Rc::make_mut(&mut shell.variables).insert(name.clone(), variable);
                    if exported {
                        self.export(shell, name);
                    }
                }
                None => drop(Rc::make_mut(&mut shell.variables).remove(name)),
            },
            Choice::Args(choices) => shell.set_args(choices.get(index).cloned().flatten()),
            Choice::Folder(choices) => shell.enter(choices.get(index).cloned().flatten()),
        }
    }
}

/// What a part did not change may again be one of several.
fn reopen(state: &mut Shell, choice: &Choice, chosen: &Shell, before: &Shell) {
    match choice {
        Choice::Variable(name, _) => {
            if is_same(state.variables.get(name), chosen.variables.get(name))
                && let Some(variable) = before.variables.get(name)
            {
                Rc::make_mut(&mut state.variables).insert(name.clone(), variable.clone());
            }
        }
        Choice::Args(_) => {
            if state.possible_args() == chosen.possible_args() {
                state.args = Rc::clone(&before.args);
                state.args_unknown = before.args_unknown;
                state.args_choices = Rc::clone(&before.args_choices);
            }
        }
        Choice::Folder(_) => {
            if state.possible_folders() == chosen.possible_folders() {
                state.cwd.clone_from(&before.cwd);
                state.folders = Rc::clone(&before.folders);
            }
        }
    }
    if state.env == chosen.env {
        state.env = std::sync::Arc::clone(&before.env);
    }
}

/// What a part with this text mentions and may be one of several, and what every program gets.
fn choices_in(shell: &Shell, text: &str) -> Vec<Choice> {
    let mut choices = Vec::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_program = !ANYWHERE.contains(&first) && !first.contains('=');
    let mentions = |name: &str| text.split(|c| !is_part(c)).any(|word| word == name);
    for (name, variable) in shell.variables.iter().filter(|(_, variable)| variable.choices.is_some()) {
        if mentions(name) || (is_program && variable.exported) {
            choices.push(Choice::Variable(name.clone(), possible(Some(variable))));
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
