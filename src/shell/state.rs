//! What a shell knows at one point of a script: variables, functions, directory, host.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use brush_parser::ast;

use super::text::{Field, Origin, Word, is_known};
use crate::path::fold;

/// Only so many exported variables are carried along to commands.
const MOST_EXPORTED: usize = 64;

/// Levels below `/` beyond which a folder is not followed: only a loop of `cd a` gets there.
const DEEPEST_FOLDER: usize = 64;

/// What a variable holds; texts may have marks in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// Unset by the script.
    Unset,
    Scalar(String),
    /// Keys and values; the keys of a plain array count from 0.
    Array(Vec<(String, String)>),
}

impl Value {
    /// True when no part of the value is in doubt.
    pub fn is_known(&self) -> bool {
        match self {
            Self::Unset => true,
            Self::Scalar(text) => is_known(text),
            Self::Array(items) => items.iter().all(|(_, text)| is_known(text)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub value: Value,
    pub origin: Origin,
    pub exported: bool,
}

/// Aliases: a line is read before it runs, so those that it defines count from the next line on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aliases {
    pub enabled: bool,
    pub defined: Rc<BTreeMap<String, String>>,
    pub active: Rc<BTreeMap<String, String>>,
}

/// The state of one shell. Cheap to clone: subshells and branches are copies.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shell {
    pub variables: Rc<BTreeMap<String, Variable>>,
    pub functions: Rc<BTreeMap<String, Rc<ast::FunctionBody>>>,
    /// Exported variables as commands see them.
    pub env: Arc<Vec<(String, Word)>>,
    /// `$1` and so on.
    pub args: Rc<Vec<Field>>,
    /// True where nothing is known of the arguments.
    pub args_unknown: bool,
    /// `$0`, where it is not the shell's name.
    pub name: Option<Rc<str>>,
    /// Functions that shells started from here have too.
    pub exported_functions: Rc<Vec<String>>,
    pub aliases: Aliases,
    pub cwd: Option<String>,
    pub old_cwd: Option<String>,
    pub hosts: Arc<Vec<String>>,
    pub via: Arc<Vec<String>>,
    pub repeats: bool,
    /// `execfail`: the script goes on where `exec` finds no program.
    pub outlives_exec: bool,
    /// What is left to read on standard input, where that is in the text.
    pub stdin: Option<String>,
}

impl Shell {
    pub fn get(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    pub fn set(&mut self, name: &str, value: Value, origin: Origin) {
        let exported = self.get(name).is_some_and(|old| old.exported);
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), Variable { value, origin, exported });
    }

    pub fn set_text(&mut self, name: &str, text: impl Into<String>) {
        self.set(name, Value::Scalar(text.into()), Origin::Assigned);
    }

    /// Takes the value out, to be changed and set again without a copy.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let variables = Rc::make_mut(&mut self.variables);
        variables.get_mut(name).map(|variable| std::mem::replace(&mut variable.value, Value::Unset))
    }

    /// Gives a variable back the value that it has in another shell.
    pub fn restore(&mut self, name: &str, from: &Self) {
        let variables = Rc::make_mut(&mut self.variables);
        match from.get(name) {
            Some(old) => variables.insert(name.to_owned(), old.clone()),
            None => variables.remove(name),
        };
    }

    /// Marks as exported; the caller refreshes `env`.
    pub fn export(&mut self, name: &str) {
        if let Some(variable) = Rc::make_mut(&mut self.variables).get_mut(name) {
            variable.exported = true;
        }
    }

    pub fn add_env(&mut self, name: &str, word: Word) {
        let env = Arc::make_mut(&mut self.env);
        env.retain(|(key, _)| key != name);
        if env.len() < MOST_EXPORTED {
            env.push((name.to_owned(), word));
        }
    }

    /// A shell started by a program: functions, arguments and variables that are not exported are gone.
    pub fn child(&self) -> Self {
        let functions = self.functions.iter().filter(|(name, _)| self.exported_functions.contains(name));
        let exported = self.variables.iter().filter(|(_, v)| v.exported);
        Self {
            variables: Rc::new(exported.map(|(k, v)| (k.clone(), v.clone())).collect()),
            functions: Rc::new(functions.map(|(k, v)| (k.clone(), Rc::clone(v))).collect()),
            args: Rc::default(),
            args_unknown: false,
            name: None,
            aliases: Aliases::default(),
            ..self.clone()
        }
    }

    /// A shell somewhere else: nothing of this one is known there.
    pub fn elsewhere(&self) -> Self {
        Self {
            hosts: Arc::clone(&self.hosts),
            via: Arc::clone(&self.via),
            repeats: self.repeats,
            stdin: self.stdin.clone(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn through(mut self, wrapper: &str) -> Self {
        Arc::make_mut(&mut self.via).push(wrapper.to_owned());
        self
    }

    #[must_use]
    pub fn on_host(mut self, host: String) -> Self {
        Arc::make_mut(&mut self.hosts).push(host);
        self
    }

    /// The absolute path of a folder named from where this shell is; `None` where that is not known or the
    /// folder lies more than [`DEEPEST_FOLDER`] levels deep.
    pub fn follow(&self, dir: &str) -> Option<String> {
        let start = if dir.starts_with('/') { "" } else { self.cwd.as_deref()? };
        let names = fold(start, dir);
        (names.len() <= DEEPEST_FOLDER).then(|| format!("/{}", names.join("/")))
    }
}
