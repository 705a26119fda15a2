//! Assignments to variables.

use std::rc::Rc;

use brush_parser::ast::{Assignment, AssignmentName, AssignmentValue};

use crate::languages::names::engines;
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::join::MOST_CHOICES;
use crate::shell::expansion::arithmetic;
use crate::shell::shared::Shared;
use crate::shell::state::{ALWAYS_SET, Attribute, Shell, Value, Variable};
use crate::shell::text::{Origin, Stretch, Unknowns, is_known, stretches};

/// Arrays of bash whose keys are names: of aliases, and of programs that were found in `PATH`.
const BY_NAME: [&str; 2] = ["BASH_ALIASES", "BASH_CMDS"];

/// Maximum number of elements in an array.
const MOST_ITEMS: usize = 4096;

impl Evaluator {
    /// Performs one assignment.
    pub fn assign(&mut self, shell: &mut Shell, assignment: &Assignment) {
        if shell.readonly.contains(variable(&assignment.name)) {
            self.may_fail(shell);
        }
        self.settled(shell, |this, shell| {
            let (value, is_computed) = this.computed(|this| this.value_of(shell, assignment));
            this.set_value(shell, assignment, value, is_computed);
        });
    }

    /// The value that an assignment gives to its variable.
    pub fn value_of(&mut self, shell: &mut Shell, assignment: &Assignment) -> Value {
        let (name, key) = match &assignment.name {
            AssignmentName::VariableName(name) => (name, None),
            AssignmentName::ArrayElementName(name, key) => (name, Some(key)),
        };
        let appended = shell.get(name).filter(|_| assignment.append || key.is_some());
        self.is_computed |= appended.is_some_and(|variable| variable.origin == Origin::Computed);
        let value = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let text = self.text(shell, &word.value);
                if let Some(key) = key {
                    let key = self.text(shell, key);
                    self.run_subscripts(&mut shell.clone(), &format!("[{key}]"));
                    let number = arithmetic::evaluate(&key, shell);
                    if !shell.associative.contains(shell.referred(name)) {
                        let once = shell.clone();
                        self.assign_in_subscript(shell, &key);
                        // Bash evaluates it once more for the value that it appends to.
                        if assignment.append && !Shared::ptr_eq(&once.variables, &shell.variables) {
                            let once = shell.clone();
                            self.assign_in_subscript(shell, &key);
                            self.join(shell, &once);
                        }
                    }
                    let key = match number {
                        Some(number) if !BY_NAME.contains(&name.as_str()) => number.to_string(),
                        _ => key,
                    };
                    let mut items = match shell.take(name) {
                        Some(Value::Array(items)) => items,
                        _ => Vec::new(),
                    };
                    self.is_computed = true;
                    add(&mut items, key, text, assignment.append);
                    Value::Array(items)
                } else if assignment.append {
                    // The expression of an integer variable.
                    let is_integer = shell.attributes.get(shell.referred(name)) == Some(&Attribute::Integer);
                    let text = if is_integer { format!("+({text})") } else { text };
                    match shell.take(name) {
                        Some(Value::Scalar(old)) => Value::Scalar(self.bounded(shell, old + &text)),
                        Some(Value::Array(mut items)) => {
                            self.is_computed = true;
                            add(&mut items, "0".to_owned(), text, true);
                            Value::Array(items)
                        }
                        Some(Value::Unset) => Value::Scalar(text),
                        None => {
                            let before = self.unknowns.plain(format!("${name}"));
                            Value::Scalar(before + &text)
                        }
                    }
                } else if let Some(Value::Array(mut items)) =
                    shell.get(name).map(|variable| variable.value.clone())
                {
                    self.is_computed = true;
                    add(&mut items, "0".to_owned(), text, false);
                    Value::Array(items)
                } else {
                    Value::Scalar(self.bounded(shell, text))
                }
            }
            AssignmentValue::Array(elements) => {
                let old = if assignment.append { shell.take(name) } else { None };
                let mut items = match old {
                    Some(Value::Array(items)) if assignment.append => items,
                    Some(Value::Scalar(text)) if assignment.append => vec![("0".to_owned(), text)],
                    _ => Vec::new(),
                };
                for (key, word) in elements {
                    if self.exhausted() {
                        break;
                    }
                    if let Some(key) = key {
                        let key = self.text(shell, &key.value);
                        self.run_subscripts(&mut shell.clone(), &format!("[{key}]"));
                        if !shell.associative.contains(shell.referred(name)) {
                            self.assign_in_subscript(shell, &key);
                        }
                        let text = self.text(shell, &word.value);
                        self.is_computed = true;
                        add(&mut items, key, text, false);
                    } else {
                        for field in self.fields_with_names(shell, &word.value) {
                            self.is_computed |= field.origin == Origin::Computed;
                            items.push((items.len().to_string(), field.text));
                        }
                    }
                }
                self.spend(items.len() / 16);
                Value::Array(items)
            }
        };
        self.bounded_array(shell, value)
    }

    /// Gives a variable its value.
    pub fn set_value(&mut self, shell: &mut Shell, assignment: &Assignment, value: Value, is_computed: bool) {
        let name = variable(&assignment.name);
        let value = match value {
            Value::Array(items) if shell.associative.contains(name) => Value::Array(with_pairs(items)),
            value => value,
        };
        if let (true, Value::Array(items)) = (BY_NAME.contains(&name), &value) {
            match name {
                "BASH_ALIASES" => Shared::make_mut(&mut shell.aliases.defined).extend(items.iter().cloned()),
                _ => items.iter().for_each(|(name, path)| self.rename(shell, path, name)),
            }
        }
        match value {
            Value::Scalar(text) => {
                self.set_special(shell, name, &text);
                self.set_text(shell, name, text);
            }
            Value::Array(items) => {
                for (_, text) in &items {
                    self.set_special(shell, name, text);
                }
                shell.set(name, Value::Array(items), Origin::Assigned);
            }
            Value::Unset => shell.set(name, Value::Unset, Origin::Assigned),
        }
        if is_computed {
            shell.mark_computed(name);
        }
    }

    /// Gives a text to the variable or the element of an array that a word names: `a[2]`.
    pub fn set_element(&mut self, shell: &mut Shell, name: &str, text: String) {
        self.set_special(shell, name, &text);
        let Some((name, key)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) else {
            return self.set_text(shell, name, text);
        };
        let mut items = match shell.take(name) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        add(&mut items, key.to_owned(), text, false);
        shell.set(name, Value::Array(items), Origin::Computed);
    }

    /// Gives a variable a text, or one of those that it may be.
    pub fn set_text(&mut self, shell: &mut Shell, name: &str, text: String) {
        let several = self.texts_behind(&text);
        shell.set(name, Value::Scalar(text), Origin::Assigned);
        if let Some(texts) = several {
            let exported = shell.get(name).is_some_and(|variable| variable.exported);
            let of = |text| Variable { exported, ..Variable::of(Value::Scalar(text), Origin::Assigned) };
            let choices = texts.into_iter().map(|text| Some(of(text))).collect();
            let variable = self.variable_of(name, choices, shell);
            let name = shell.referred(name).to_owned();
            shell.put(&name, variable);
            shell.has_choices = true;
        }
    }

    /// The texts that a text with unknown stretches may be, if these are several and few.
    fn texts_behind(&self, text: &str) -> Option<Vec<String>> {
        if is_known(text) {
            return None;
        }
        let mut texts = vec![text.to_owned()];
        for stretch in stretches(text) {
            let Stretch::Mark(index) = stretch else { continue };
            let candidates = &self.unknowns.get(index)?.candidates;
            if candidates.is_empty() || texts.len() * candidates.len() > MOST_CHOICES {
                continue;
            }
            let mark = Unknowns::mark_of(index);
            texts = texts
                .iter()
                .flat_map(|text| {
                    candidates.iter().map(|candidate| text.replace(&mark, candidate)).collect::<Vec<_>>()
                })
                .collect();
        }
        (texts.len() > 1).then_some(texts)
    }

    /// Replaces an array of more than [`MOST_ITEMS`] elements with an unknown value.
    fn bounded_array(&mut self, shell: &Shell, value: Value) -> Value {
        match value {
            Value::Array(items) if items.len() > MOST_ITEMS => {
                self.complain(Complaint::LongArray);
                let lines: Vec<&str> = items.iter().map(|(_, text)| text.as_str()).collect();
                self.leave_out(shell, &lines.join("\n"));
                let source = "…".to_owned();
                Value::Scalar(self.unknowns.many(source))
            }
            value => value,
        }
    }

    /// Replaces a text of more than 64 KiB with an unknown one.
    fn bounded(&mut self, shell: &Shell, text: String) -> String {
        const LONGEST: usize = 64 * 1024;
        if text.len() <= LONGEST {
            return text;
        }
        self.complain(Complaint::LongVariable);
        self.leave_out(shell, &text);
        self.unknowns.plain("…")
    }

    /// Unsets a variable or an element of an array.
    pub fn unset(&mut self, shell: &mut Shell, name: &str) {
        let Some((array, key)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) else {
            return self.unset_variable(shell, name);
        };
        let target = shell.referred(array).to_owned();
        let Some(mut variable) = shell.get(&target).cloned() else { return };
        match &mut variable.value {
            Value::Array(items) if is_known(key) && items.iter().all(|(key, _)| is_known(key)) => {
                let number = arithmetic::evaluate(key, shell).filter(|number| *number >= 0);
                let is_it =
                    |known: &str| known == key || number.is_some_and(|number| number.to_string() == known);
                if key.starts_with('-') {
                    variable = self.forgotten(&target, &[Some(variable)], shell);
                } else {
                    items.retain(|(known, _)| !is_it(known));
                }
            }
            Value::Array(_) => variable = self.forgotten(&target, &[Some(variable)], shell),
            _ => return self.unset_variable(shell, array),
        }
        variable.origin = Origin::Computed;
        shell.put(&target, variable);
    }

    /// Unsets a variable. One that a caller has made local reveals the variable behind it.
    fn unset_variable(&mut self, shell: &mut Shell, name: &str) {
        let is_own = shell.locals.contains_key(name);
        let outer = self.scopes.iter_mut().rev().find_map(|locals| {
            locals.contains_key(name).then(|| Shared::make_mut(locals).get_mut(name)).flatten()
        });
        let revealed = outer.filter(|_| shell.in_function && !is_own).map(|local| {
            local.is_certain = false;
            local.variable.clone()
        });
        let before = shell.clone();
        // Without it, words are split at blanks.
        let value = if name == "IFS" { Value::Scalar(" \t\n".to_owned()) } else { Value::Unset };
        shell.set(name, value, Origin::Assigned);
        if !ALWAYS_SET.contains(&name) {
            shell.keep_back(name);
        }
        if let Some(revealed) = revealed {
            let mut other = before;
            match revealed {
                Some(variable) => other.put(name, Variable::clone(&variable)),
                None => Shared::make_mut(&mut other.variables).remove(name),
            }
            self.join(shell, &other);
        }
    }

    /// Leaves open whether commands get the exported variables that decide where they act. The others are taken for passed on.
    pub fn doubt_environment(&mut self, shell: &mut Shell) {
        let placing = engines::PLACING.iter().filter_map(|name| Some((name, shell.variables.get(name)?)));
        let exported = placing.filter(|(_, variable)| variable.exported);
        let exported: Vec<(&str, Rc<Variable>)> =
            exported.map(|(name, variable)| (name, Rc::clone(variable))).collect();
        for (name, variable) in exported {
            let doubtful = self.either(name, Some(&variable), None, shell);
            shell.put(name, doubtful);
        }
    }

    /// From here on, the name starts the program at the path.
    pub fn rename(&mut self, shell: &mut Shell, path: &str, name: &str) {
        // A function is found before any program.
        if !path.contains('\'') {
            let before = shell.clone();
            self.run_script(shell, &format!("{name}() {{ '{path}' \"$@\"; }}"));
            // The shell may have forgotten it when the name is used.
            self.join(shell, &before);
        }
    }
}

/// The variable that an assignment sets, or an element of it.
pub(crate) fn variable(name: &AssignmentName) -> &str {
    match name {
        AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _) => name,
    }
}

/// Sets one element of an array, or appends a text to it.
fn add(items: &mut Vec<(String, String)>, key: String, text: String, appends: bool) {
    // Only the last 64 keys are compared: scripts set elements in order, and the time stays linear.
    let from = items.len().saturating_sub(64);
    let found = items.get_mut(from..).and_then(|last| last.iter_mut().find(|(k, _)| *k == key));
    match found {
        Some((_, old)) if appends => old.push_str(&text),
        Some((_, old)) => *old = text,
        None => items.push((key, text)),
    }
}

/// The elements of an array with keys: a list without keys states them, and their values, in turn.
fn with_pairs(items: Vec<(String, String)>) -> Vec<(String, String)> {
    let is_list = items.iter().enumerate().all(|(at, (key, _))| *key == at.to_string());
    if !is_list {
        return items;
    }
    let pairs = items.chunks(2).map(|pair| {
        let text = |at: usize| pair.get(at).map(|(_, text)| text.clone()).unwrap_or_default();
        (text(0), text(1))
    });
    pairs.chain(items.iter().cloned()).collect()
}
