//! Declarations: `declare`, `local`, `export`, `readonly`.

use brush_parser::ast::{self, Assignment, AssignmentValue};

use super::assign::variable;
use super::attributes;
use super::invocation::Invocation;
use crate::shell::evaluator::Evaluator;
use crate::shell::expansion::brace;
use crate::shell::shared::Shared;
use crate::shell::state::{Shell, Value, Variable};
use crate::shell::text::{Field, Origin, Unknowns, is_all_unknown, is_known};

/// An assignment with its value, and whether that is computed.
type Declared = (Assignment, Value, bool);

impl Evaluator {
    /// The values of the assignments of a declaration: all are expanded before the first one is assigned.
    pub fn declared(&mut self, shell: &mut Shell, assignments: Vec<Assignment>) -> Vec<Declared> {
        let value = |assignment: Assignment| {
            let (value, is_computed) = self.computed(|this| this.value_of(shell, &assignment));
            (assignment, value, is_computed)
        };
        assignments.into_iter().map(value).collect()
    }

    /// Gives the variables of a declaration their attributes and values.
    pub fn declare_values(&mut self, shell: &mut Shell, invocation: &Invocation, values: Vec<Declared>) {
        let prints = |field: &Field| field.text.starts_with('-') && field.text.contains(['f', 'F', 'p']);
        if !values.is_empty() && invocation.args().any(prints) {
            // It assigns nothing, and the values stay as they were.
            self.unread(shell, &invocation.texts().join(" "));
        }
        for name in attributes::declare(shell, invocation, &values) {
            // The subscript in `declare -n x='a[$(…)]'` runs when `x` is used.
            for (_, value, _) in &values {
                if let Value::Scalar(target) = value {
                    self.run_subscripts(shell, target);
                }
            }
            let unknown = self.unknowns.many(format!("${name}"));
            shell.put(&name, Variable::of(Value::Scalar(unknown), Origin::Assigned));
        }
        for (assignment, value, is_computed) in values {
            let name = variable(&assignment.name);
            let given = match (&value, &assignment.value) {
                (Value::Scalar(text), _) => Some(text),
                (Value::Array(items), AssignmentValue::Scalar(_)) => {
                    items.iter().find(|(key, _)| key == "0").map(|(_, text)| text)
                }
                _ => None,
            };
            if let Some(text) = given
                && may_be_list(&self.unknowns, shell, invocation, (name, text))
            {
                self.unread(shell, &format!("{name}={text}"));
            }
            self.settled(shell, |this, shell| this.set_value(shell, &assignment, value, is_computed));
            if attributes::is_global(invocation) && self.hides(shell, name) {
                // It changes the variable behind the local one, which it leaves as it is.
                self.forget_all(shell);
            }
            if attributes::makes_readonly(invocation) {
                Shared::make_mut(&mut shell.readonly).insert(name.to_owned());
            }
        }
    }
}

/// Whether bash reads the value of a declaration as a list, in which it runs the substitutions.
fn may_be_list(
    unknowns: &Unknowns,
    shell: &Shell,
    invocation: &Invocation,
    (name, value): (&str, &str),
) -> bool {
    let is_array =
        |variable: &Variable| matches!(variable.value, Value::Array(_)) || variable.choices.is_some();
    let is_number = unknowns.only_mark(value).is_some_and(|unknown| unknown.is_number);
    let makes_list = |field: &Field| {
        field.text.starts_with('-') && field.text.contains(['a', 'A']) || !is_known(&field.text)
    };
    let is_list = || invocation.args().any(makes_list) || shell.get(name).is_some_and(is_array);
    value.starts_with('(') || is_all_unknown(value) && !is_number && is_list()
}

/// Carries out a declaration whose assignments are made: it exports variables, and makes them local or readonly.
pub(crate) fn declare(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    let option = |letter: char| {
        invocation.args().any(|field| field.text.starts_with('-') && field.text.contains(letter))
    };
    let unexports = invocation.word(0) == Some("export") && option('n')
        || invocation.args().any(|field| field.text.starts_with('+') && field.text.contains('x'));
    let exports = !unexports && (invocation.word(0) == Some("export") || option('x'));
    // What assigns nothing, or fails, leaves the values as they were.
    let is_followed = |word: &str| word.chars().all(|c| "-+aAfFgilnprtux".contains(c));
    let options = invocation.args().filter(|field| field.text.starts_with(['-', '+']));
    if !options.into_iter().all(|field| is_followed(&field.text)) {
        evaluator.unread(shell, &invocation.texts().join(" "));
    }
    if attributes::makes_readonly(invocation) && option('f') {
        // These functions keep their bodies.
        evaluator.unread(shell, &invocation.texts().join(" "));
    }
    if exports && option('f') {
        let names: Vec<String> = invocation.args().map(|field| field.text.clone()).collect();
        // Not every shell that the script starts has it instead of the program.
        if names.iter().any(|name| evaluator.catalogue.find(name).is_some()) {
            evaluator.unread(shell, &invocation.texts().join(" "));
        }
        Shared::make_mut(&mut shell.exported_functions).extend(names);
        return;
    }
    for field in invocation.args() {
        if field.text.starts_with(['-', '+']) {
            continue;
        }
        // A word such as `"$name=value"` is an assignment only after expansion.
        let parts = field.text.split_once('=');
        let (name, value) = parts.map_or((field.text.as_str(), None), |(name, value)| (name, Some(value)));
        if !is_known(name) {
            // It may set any variable, or run the substitutions in a subscript.
            evaluator.unread(shell, &invocation.texts().join(" "));
            continue;
        }
        // Bash reads an element, and a list, in a word that it has expanded.
        if name.contains('[')
            || value.is_some_and(|value| may_be_list(&evaluator.unknowns, shell, invocation, (name, value)))
        {
            evaluator.unread(shell, &field.text);
        }
        if let Some(value) = value {
            evaluator.set_special(shell, name, value);
            shell.set(name, Value::Scalar(value.to_owned()), Origin::Assigned);
        } else if invocation.word(0) == Some("local") && shell.get(name).is_none() {
            shell.set(name, Value::Unset, Origin::Assigned);
        }
        if exports {
            shell.export(name);
        } else if unexports {
            shell.keep_back(name);
        }
        if attributes::makes_readonly(invocation) {
            Shared::make_mut(&mut shell.readonly).insert(name.to_owned());
        }
    }
}

/// The assignments of a declaration, whose words undergo brace expansion: `readonly A={x,y}` is two of them.
pub(crate) fn with_braces(assignment: &ast::Assignment) -> Vec<ast::Assignment> {
    if let AssignmentValue::Scalar(word) = &assignment.value
        && word.value.contains('{')
        && let Ok(values) = brace::expand(&word.value)
    {
        let of = |value: String| ast::Assignment {
            value: AssignmentValue::Scalar(ast::Word::new(&value)),
            ..assignment.clone()
        };
        return values.into_iter().map(of).collect();
    }
    vec![assignment.clone()]
}
