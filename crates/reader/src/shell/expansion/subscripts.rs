//! What arithmetic runs: the substitutions in the subscripts of its texts, as in `x='a[$(reboot)]'; ((x))`.

use std::collections::BTreeSet;

use super::arithmetic::number;
use crate::languages::names::shell as names;
use crate::shell::Complaint;
use crate::shell::disk::Unreadable::{Binary, Changing, TooLarge};
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::run::short;
use crate::shell::script::Construct;
use crate::shell::state::{Shell, Value};
use crate::shell::text::{Stretch, Unknown, Unknowns, is_known, is_name, stretches};

/// Maximum number of names of variables that one expression leads to.
const MOST_NAMES: usize = 256;
/// Maximum number of operands of an expression that are stated.
const MOST_OPERANDS: usize = 64;

impl Evaluator {
    /// Runs the substitutions in the subscripts of an arithmetic expression whose value is not computed. Where it may assign, what
    /// variables are is not known any more.
    pub fn run_subscripts(&mut self, shell: &mut Shell, expression: &str) {
        self.is_involved |= self.may_assign(shell, expression);
        self.run_computed(shell, expression);
    }

    /// Whether the operators of a subscript may change a variable.
    pub fn assigns_in_subscript(&self, shell: &Shell, index: &str) -> bool {
        !matches!(index, "@" | "*") && number(index).is_none() && self.may_assign(shell, index)
    }

    /// Carries out what the operators of a subscript assign: `a[i++]`.
    pub fn assign_in_subscript(&mut self, shell: &mut Shell, index: &str) {
        if self.assigns_in_subscript(shell, index) {
            self.change_variables(shell, index);
        }
    }

    /// Runs the substitutions in the subscripts of an arithmetic expression whose value is computed beside.
    pub fn run_computed(&mut self, shell: &mut Shell, expression: &str) {
        self.run_own(shell, expression);
        self.run_values(shell, expression);
    }

    /// Whether arithmetic with this expression may change a variable: by its own operators, or by those of a value.
    fn may_assign(&self, shell: &Shell, expression: &str) -> bool {
        let assigns = |text: &str| ["=", "++", "--"].iter().any(|operator| text.contains(operator));
        let is_number = |text: &String| number(text).is_some();
        let mut names = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        assigns(expression)
            || !self.unknowns.behind(expression).is_empty()
            || names.any(|name| match shell.get(name).map(|variable| &variable.value) {
                Some(Value::Scalar(text)) => !text.is_empty() && !is_number(text),
                Some(Value::Array(items)) => !items.iter().all(|(_, text)| is_number(text)),
                Some(Value::Unset) | None => false,
            })
    }

    /// Runs the substitutions in the subscripts that an expression has itself, and those in the texts that its unknown parts may
    /// be. Returns whether it has any. A part that may be any text may run anything.
    pub fn run_own(&mut self, shell: &mut Shell, expression: &str) -> bool {
        let text = self.loaded_data(shell, expression);
        if evaluates(&text) {
            self.here_document(shell, &text);
            return true;
        }
        if is_known(&text) || self.depth_reached() {
            return false;
        }
        self.depth += 1;
        for unknown in self.unknowns.behind(&text) {
            for choice in unknown.candidates.iter().chain(&unknown.made_from) {
                let choice = self.unknowns.sources(choice);
                self.inside(Construct::Branch("if it is this text"), |this| {
                    this.run_subscripts(&mut shell.clone(), &choice);
                });
            }
            let mark = self.unknowns.mark(unknown.clone());
            if self.may_be_any(shell, &mark)
                || unknown.on_disk.as_ref().is_some_and(|path| self.is_unseen(path))
            {
                self.complain(Complaint::Evaluates(short(&unknown.source)));
                self.unread(shell, &unknown.source);
            }
        }
        self.depth -= 1;
        false
    }

    /// Runs the substitutions in subscripts in the values of the variables of an arithmetic expression:
    /// `x='a[$(…)]'; $((x))`.
    pub fn run_values(&mut self, shell: &mut Shell, expression: &str) {
        let mut texts = vec![expression.to_owned()];
        let mut seen = BTreeSet::new();
        let mut rounds = 0;
        // A value may be the name of another variable: `y=x; $((y))`.
        while let Some(text) = texts.pop() {
            rounds += 1;
            self.state_operands(shell, &text);
            let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            for name in parts.filter(|part| part.starts_with(|c: char| !c.is_ascii_digit())) {
                // `$((x - x))` evaluates it twice.
                if seen.len() == MOST_NAMES {
                    self.leave_out(shell, expression);
                    return;
                }
                if !seen.insert(name.to_owned()) && rounds > 1 {
                    continue;
                }
                let values = match shell.get(name).map(|variable| &variable.value) {
                    Some(Value::Scalar(text)) => vec![text.clone()],
                    Some(Value::Array(items)) => items.iter().map(|(_, text)| text.clone()).collect(),
                    Some(Value::Unset) => vec![],
                    // The last word of the command before.
                    None if name == "_" && !text.contains('.') => {
                        self.unread(shell, "$_");
                        continue;
                    }
                    None => continue,
                };
                for value in values {
                    if !self.run_own(shell, &value) {
                        texts.push(value);
                    }
                }
            }
        }
    }

    /// Adds the variables of the environment that arithmetic evaluates: bash prints a value that is no number in its error.
    /// Only names that may be those of keys are stated: scripts count with others.
    fn state_operands(&mut self, shell: &Shell, text: &str) {
        let is_of_environment = |name: &str| names::KEYED.iter().any(|part| name.contains(part));
        let mut operands = vec![":".to_owned()];
        for stretch in stretches(text) {
            match stretch {
                Stretch::Known(known) => {
                    let names = known.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                    for name in names.filter(|name| is_name(name) && is_of_environment(name)) {
                        let is_own = names::NUMBERS.has(name) || names::OWN.has(name);
                        if !is_own && shell.get(name).is_none() && operands.len() < MOST_OPERANDS {
                            operands.push(self.unknowns.plain(format!("${name}")));
                        }
                    }
                }
                Stretch::Mark(index) => {
                    let is_stated = |unknown: &&Unknown| {
                        !unknown.is_number
                            && unknown.source.starts_with('$')
                            && !unknown.source.starts_with("$(")
                            && is_of_environment(&unknown.source)
                    };
                    if self.unknowns.get(index).is_some_and(|unknown| is_stated(&unknown)) {
                        operands.push(Unknowns::mark_of(index));
                    }
                }
            }
        }
        self.spend(16 * (operands.len() - 1));
        self.stated(shell, &operands.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// Whether a file on this machine has a text that could not be looked at.
    fn is_unseen(&self, path: &str) -> bool {
        self.on_disk.read.get(path).is_none_or(|read| matches!(read, Err(TooLarge | Binary | Changing)))
    }
}

impl Unknowns {
    /// The unknown stretches of a text that are no numbers.
    pub fn behind(&self, text: &str) -> Vec<Unknown> {
        let of = |stretch| match stretch {
            Stretch::Mark(index) => self.get(index).filter(|unknown| !unknown.is_number).cloned(),
            Stretch::Known(_) => None,
        };
        stretches(text).filter_map(of).collect()
    }
}

/// Whether arithmetic evaluates a substitution in a subscript of this text.
fn evaluates(text: &str) -> bool {
    text.contains('[') && text.contains(['`', '$'])
}
