//! Attributes of variables: `declare -l`, `declare -u` and namerefs.

use std::collections::BTreeMap;
use std::rc::Rc;

use brush_parser::ast::Assignment;

use super::assign::variable;
use super::invocation::Invocation;
use crate::shell::state::{Attribute, Local, Shell, Value};

/// Maximum length of a chain of namerefs, as in bash.
const MOST_REFERENCES: usize = 8;

/// Sets the attributes that the options of a declaration state for the variables that it names.
pub(crate) fn declare(
    shell: &mut Shell,
    invocation: &Invocation,
    is_declaration: bool,
    assigned: &[Assignment],
) {
    if !is_declaration {
        return;
    }
    let mut attribute = None;
    for field in invocation.args() {
        match field.text.strip_prefix('-') {
            Some(letters) if letters.contains('n') => attribute = Some(Attribute::Reference),
            Some(letters) if letters.contains('l') => attribute = Some(Attribute::Lower),
            Some(letters) if letters.contains('u') => attribute = Some(Attribute::Upper),
            Some(_) => {}
            None => {
                let name = field.text.split('=').next().unwrap_or_default().trim_end_matches('+');
                if let Some(attribute) = attribute {
                    Rc::make_mut(&mut shell.attributes).insert(name.to_owned(), attribute);
                    // A second `declare -n` changes the reference, not what it stands for.
                    let is_assigned = assigned.iter().any(|assignment| variable(&assignment.name) == name);
                    if attribute == Attribute::Reference && is_assigned {
                        Rc::make_mut(&mut shell.variables).remove(name);
                    }
                }
            }
        }
    }
}

/// Whether a declaration makes its variables readonly.
pub(crate) fn makes_readonly(invocation: &Invocation) -> bool {
    invocation.word(0) == Some("readonly")
        || invocation.args().any(|field| field.text.starts_with('-') && field.text.contains('r'))
}

impl Shell {
    /// Remembers the values of the variables that a declaration in a function makes local.
    pub fn localise(&mut self, invocation: &Invocation) {
        let is_local = match invocation.word(0) {
            Some("local") => true,
            Some("declare" | "typeset") => {
                !invocation.fields.iter().any(|field| field.text.starts_with('-') && field.text.contains('g'))
            }
            _ => false,
        };
        if !self.in_function || !is_local {
            return;
        }
        for field in invocation.args().filter(|field| !field.text.starts_with('-')) {
            let name = field.text.split(['=', '[']).next().unwrap_or_default().trim_end_matches('+');
            let locals = Rc::make_mut(&mut self.locals);
            if let Some(local) = locals.get_mut(name) {
                local.is_certain = true;
                continue;
            }
            let had = self.attributes.contains_key(name);
            let attribute = had.then(|| Rc::make_mut(&mut self.attributes).remove(name)).flatten();
            let variable = self.variables.get(name).cloned();
            locals.insert(name.to_owned(), Local { variable, attribute, is_certain: true });
        }
    }

    /// Restores the variables that the function has made local; without those that it may not have, if these are to be kept.
    pub fn end_locals(&mut self, keeps_uncertain: bool) {
        let locals = std::mem::take(&mut self.locals);
        for (name, local) in locals.iter().filter(|(_, local)| local.is_certain || !keeps_uncertain) {
            put_back(&mut self.attributes, name, local.attribute);
            match &local.variable {
                Some(variable) => Rc::make_mut(&mut self.variables).insert(name, Rc::clone(variable)),
                None => Rc::make_mut(&mut self.variables).remove(name),
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

fn put_back<K: Ord + Clone, V: Clone>(map: &mut Rc<BTreeMap<K, V>>, name: &K, before: Option<V>) {
    match before {
        Some(value) => drop(Rc::make_mut(map).insert(name.clone(), value)),
        None if map.contains_key(name) => drop(Rc::make_mut(map).remove(name)),
        None => {}
    }
}
