//! Attributes of variables: `declare -l`, `declare -u` and namerefs.

use std::collections::BTreeMap;
use std::rc::Rc;

use brush_parser::ast::Assignment;

use super::assign::variable;
use super::invocation::Invocation;
use crate::shell::evaluator::Evaluator;
use crate::shell::shared::Shared;
use crate::shell::state::{Attribute, Local, Shell, Value, Variable, is_same};
use crate::shell::text::{Origin, is_name};

/// Maximum length of a chain of namerefs, as in bash.
const MOST_REFERENCES: usize = 8;

/// Sets the attributes that the options of a declaration state for the variables that it names, some of which get a value.
/// Returns the names of references to variables that are not known.
pub(crate) fn declare(
    shell: &mut Shell,
    invocation: &Invocation,
    assigned: &[(Assignment, Value, bool)],
) -> Vec<String> {
    let letters = [
        ('n', Attribute::Reference),
        ('i', Attribute::Integer),
        ('l', Attribute::Lower),
        ('u', Attribute::Upper),
        ('c', Attribute::Capital),
    ];
    let mut attribute = None;
    let mut doubtful = Vec::new();
    let mut is_associative = false;
    for field in invocation.args() {
        if let Some(options) = field.text.strip_prefix(['-', '+']) {
            is_associative |= options.contains('A');
            // `export -n` keeps a variable back.
            let is_attribute =
                |letter: &char| options.contains(*letter) && invocation.word(0) != Some("export");
            if let Some((_, stated)) = letters.iter().find(|(letter, _)| is_attribute(letter)) {
                attribute = Some((*stated, field.text.starts_with('-')));
            }
            continue;
        }
        let name = field.text.split('=').next().unwrap_or_default().trim_end_matches('+');
        if is_associative {
            Shared::make_mut(&mut shell.associative).insert(name.to_owned());
        }
        match attribute {
            None => {}
            Some((_, false)) => drop(Shared::make_mut(&mut shell.attributes).remove(name)),
            Some((Attribute::Reference, true)) => {
                let value = assigned.iter().rfind(|(assignment, ..)| variable(&assignment.name) == name);
                let is_known =
                    matches!(value, Some((_, Value::Scalar(target), _)) if is_name(target) && target != name);
                if !is_known {
                    doubtful.push(name.to_owned());
                }
                let attribute = if is_known { Attribute::Reference } else { Attribute::Doubtful };
                Shared::make_mut(&mut shell.attributes).insert(name.to_owned(), attribute);
                // A second `declare -n` changes the reference, not what it stands for.
                Shared::make_mut(&mut shell.variables).remove(name);
            }
            Some((attribute, true)) => {
                Shared::make_mut(&mut shell.attributes).insert(name.to_owned(), attribute);
            }
        }
    }
    doubtful
}

/// Whether a declaration makes its variables readonly.
pub(crate) fn makes_readonly(invocation: &Invocation) -> bool {
    invocation.word(0) == Some("readonly")
        || invocation.args().any(|field| field.text.starts_with('-') && field.text.contains('r'))
}

/// Whether a declaration concerns the variables outside of all functions.
pub(crate) fn is_global(invocation: &Invocation) -> bool {
    invocation.args().any(|field| field.text.starts_with('-') && field.text.contains('g'))
}

impl Evaluator {
    /// Whether a function in progress has made a variable local.
    pub fn hides(&self, shell: &Shell, name: &str) -> bool {
        self.scopes.iter().chain([&shell.locals]).any(|locals| locals.contains_key(name))
    }

    /// Runs a part, after which readonly variables and those with attributes are as bash leaves them.
    pub fn settled<T>(&mut self, shell: &mut Shell, run: impl FnOnce(&mut Self, &mut Shell) -> T) -> T {
        if shell.readonly.is_empty() && shell.attributes.is_empty() {
            return run(self, shell);
        }
        let before = shell.clone();
        let result = run(self, shell);
        self.keep_readonly(shell, &before);
        let attributes = shell.attributes.clone();
        for (name, attribute) in attributes.iter() {
            let is_changed = !is_same(
                shell.variables.get(name.as_str()).map(Rc::as_ref),
                before.variables.get(name.as_str()).map(Rc::as_ref),
            );
            match attribute {
                Attribute::Integer if is_changed => {
                    // The expression may name the variable itself.
                    if let Some(old) = Self::variable_text(&before, name) {
                        self.run_subscripts(&mut before.clone(), &old);
                    }
                    self.evaluate_variable(shell, name);
                }
                Attribute::Doubtful if is_changed => self.forget_all(shell),
                _ => {}
            }
        }
        result
    }

    /// Gives an integer variable the values of the expressions that it holds.
    fn evaluate_variable(&mut self, shell: &mut Shell, name: &str) {
        let number = |this: &mut Self, shell: &mut Shell, text: &str| {
            this.run_subscripts(shell, text);
            let value = this.calculate(shell, text).value;
            value.map_or_else(|| this.unknowns.number(format!("${name}")), |value| value.to_string())
        };
        let Some(mut variable) = shell.variables.get(name).map(|variable| Variable::clone(variable)) else {
            return;
        };
        variable.value = match variable.value {
            Value::Unset => Value::Unset,
            Value::Scalar(text) => Value::Scalar(number(self, shell, &text)),
            Value::Array(items) => {
                Value::Array(items.into_iter().map(|(key, text)| (key, number(self, shell, &text))).collect())
            }
        };
        variable.choices = None;
        shell.put(name, variable);
    }

    /// Makes all variables unknown, and those that local ones hide: an assignment may have changed any of them.
    pub fn forget_all(&mut self, shell: &mut Shell) {
        for locals in self.scopes.iter_mut().chain([&mut shell.locals]) {
            for local in Shared::make_mut(locals).values_mut() {
                (local.is_certain, local.variable) = (false, None);
            }
        }
        for (name, variable) in shell.variables.clone().iter() {
            let variable = self.forgotten(name, &[Some(Variable::clone(variable))], shell);
            shell.put(name, variable);
        }
    }
}

impl Shell {
    /// Remembers the values of the variables that a declaration in a function makes local.
    pub fn localise(&mut self, invocation: &Invocation) {
        let is_local = match invocation.word(0) {
            Some("local") => true,
            Some("declare" | "typeset") => !is_global(invocation),
            _ => false,
        };
        if !self.in_function || !is_local {
            return;
        }
        for field in invocation.args().filter(|field| !field.text.starts_with('-')) {
            let name = field.text.split(['=', '[']).next().unwrap_or_default().trim_end_matches('+');
            // It fails, and the value remains.
            if self.readonly.contains(name) {
                continue;
            }
            let locals = Shared::make_mut(&mut self.locals);
            if let Some(local) = locals.get_mut(name) {
                local.is_certain = true;
                continue;
            }
            let had = self.attributes.contains_key(name);
            let attribute = had.then(|| Shared::make_mut(&mut self.attributes).remove(name)).flatten();
            let variable = self.variables.get(name).cloned();
            // It has no value until it gets one; without separators of its own, it splits words at blanks.
            let value = if name == "IFS" { Value::Scalar(" \t\n".to_owned()) } else { Value::Unset };
            let exported = variable.as_ref().is_some_and(|variable| variable.exported);
            locals.insert(name.to_owned(), Local { variable, attribute, is_certain: true });
            let local = Variable { exported, ..Variable::of(value, Origin::Assigned) };
            Shared::make_mut(&mut self.variables).insert(name, Rc::new(local));
        }
    }

    /// Restores the variables that the function has made local; without those that it may not have, if these are to be kept.
    pub fn end_locals(&mut self, keeps_uncertain: bool) {
        let locals = std::mem::take(&mut self.locals);
        for (name, local) in locals.iter().filter(|(_, local)| local.is_certain || !keeps_uncertain) {
            put_back(&mut self.attributes, name, local.attribute);
            match &local.variable {
                Some(variable) => Shared::make_mut(&mut self.variables).insert(name, Rc::clone(variable)),
                None => Shared::make_mut(&mut self.variables).remove(name),
            }
        }
    }

    /// The name of the variable that a nameref stands for; any other name itself.
    pub fn referred<'a>(&'a self, name: &'a str) -> &'a str {
        let mut name = name;
        for _ in 0..MOST_REFERENCES {
            if self.attributes.get(name) != Some(&Attribute::Reference) {
                break;
            }
            match self.variables.get(name).map(|variable| &variable.value) {
                Some(Value::Scalar(target)) if !target.is_empty() => name = target,
                _ => break,
            }
        }
        name
    }

    /// A value as a variable stores it.
    pub fn stored(&self, name: &str, value: Value) -> Value {
        let Some(attribute) = self.attributes.get(name) else { return value };
        match value {
            Value::Scalar(text) => Value::Scalar(attribute.changed(&text)),
            Value::Array(items) => {
                Value::Array(items.into_iter().map(|(key, text)| (key, attribute.changed(&text))).collect())
            }
            Value::Unset => Value::Unset,
        }
    }
}

fn put_back<K: Ord + Clone + 'static, V: Clone + 'static>(
    map: &mut Shared<BTreeMap<K, V>>,
    name: &K,
    before: Option<V>,
) {
    match before {
        Some(value) => drop(Shared::make_mut(map).insert(name.clone(), value)),
        None if map.contains_key(name) => drop(Shared::make_mut(map).remove(name)),
        None => {}
    }
}
