//! The state of a shell at one point of a script: variables, functions, directory, host.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use brush_parser::ast;

use super::shared::Shared;
use super::text::{Field, Origin};
use super::variables::Variables;
pub(crate) use super::variables::{Value, Variable, is_same};
use crate::path::fold;

/// Variables that every environment has, or that the shell itself evaluates: an assignment takes effect without `export`.
pub const ALWAYS_SET: [&str; 3] = ["PATH", "HOME", "PS4"];

/// Maximum number of folders where a command may run because of a `cd` before it. With more, it is not followed.
pub(crate) const MOST_MISSED: usize = 32;

/// Maximum number of names in a path that is followed; a loop of `cd a` exceeds it.
const DEEPEST_FOLDER: usize = 64;

/// The body of a function.
pub(crate) type Body = Rc<ast::FunctionBody>;

/// Positional parameters; `None` if they are unknown.
pub(crate) type Args = Option<Shared<Vec<Field>>>;

/// An attribute that `declare` gives to a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribute {
    /// `-l`: its value is lowercase.
    Lower,
    /// `-u`: its value is uppercase.
    Upper,
    /// `-c`: its value begins with an uppercase letter.
    Capital,
    /// `-i`: its value is that of an arithmetic expression.
    Integer,
    /// `-n`: its value is the name of another variable.
    Reference,
    /// It may have an attribute, or be a reference to a variable that is not known.
    Doubtful,
}

impl Attribute {
    /// The value that a variable with this attribute gets.
    pub fn changed(self, text: &str) -> String {
        match self {
            // Only the locale says whether other letters have cases.
            Self::Lower => text.to_ascii_lowercase(),
            Self::Upper => text.to_ascii_uppercase(),
            Self::Capital => {
                let mut chars = text.chars();
                let first = chars.next().map(|c| c.to_ascii_uppercase());
                first.into_iter().chain(chars.map(|c| c.to_ascii_lowercase())).collect()
            }
            Self::Integer | Self::Reference | Self::Doubtful => text.to_owned(),
        }
    }
}

/// A command that waits for its input.
pub(crate) struct Sink {
    /// The mark of its path.
    pub path: String,
    pub list: ast::CompoundList,
    pub shell: Shell,
    pub input: String,
    /// It has run already without input.
    pub has_run: bool,
}

/// Aliases. The shell reads a whole line before it runs it, so a definition takes effect on the next line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aliases {
    pub enabled: bool,
    pub defined: Shared<BTreeMap<String, String>>,
    pub active: Shared<BTreeMap<String, String>>,
}

/// The state of one shell. Cheap to clone: subshells and branches are clones.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
pub(crate) struct Shell {
    pub variables: Shared<Variables>,
    pub functions: Shared<BTreeMap<String, Body>>,
    /// Functions that branches may have left behind differently: one of these bodies, or none.
    pub function_choices: Shared<BTreeMap<String, Vec<Option<Body>>>>,
    /// Attributes of variables.
    pub attributes: Shared<BTreeMap<String, Attribute>>,
    /// Variables that are arrays with keys.
    pub associative: Shared<BTreeSet<String>>,
    /// Variables that may be readonly.
    pub readonly: Shared<BTreeSet<String>>,
    /// Where `exec` sends standard output, as a path with marks.
    pub output: Option<Rc<str>>,
    /// Names whose variables are exported when they get a value.
    pub exported_names: Shared<BTreeSet<String>>,
    /// The positional parameters, `$1` first.
    pub args: Shared<Vec<Field>>,
    /// True when the positional parameters are unknown.
    pub args_unknown: bool,
    /// The positional parameters that branches may have left behind; empty where these are the same.
    pub args_choices: Shared<Vec<Args>>,
    /// `$0`; `None` for the shell's own name.
    pub name: Option<Rc<str>>,
    /// Names of functions that child shells inherit.
    pub exported_functions: Shared<Vec<String>>,
    pub aliases: Aliases,
    pub cwd: Option<String>,
    pub old_cwd: Option<String>,
    /// The directories that branches may have left behind (`test -e x && cd there; …`); empty where these are the same.
    pub folders: Shared<Vec<Option<String>>>,
    /// The directories in which it is if a `cd` before has failed.
    pub missed: Arc<Vec<Option<String>>>,
    /// The last command was `cd`.
    pub moved: Option<Rc<Moved>>,
    /// The folders that `pushd` keeps.
    pub stack: Shared<Vec<Option<String>>>,
    /// `cdable_vars`: a folder that `cd` does not find is the value of a variable.
    pub enters_variables: bool,
    /// Branches have left something behind differently.
    pub has_choices: bool,
    /// Commands of traps, by signal.
    pub traps: Shared<BTreeMap<String, Vec<String>>>,
    pub hosts: Arc<Vec<String>>,
    pub via: Arc<Vec<String>>,
    /// It runs on another machine or in a container: nothing of this machine's environment is there.
    pub is_elsewhere: bool,
    pub repeats: bool,
    /// It runs the body of a function or a sourced file, which `return` ends.
    pub in_function: bool,
    /// It runs the body of a loop, which `break` ends.
    pub in_loop: bool,
    /// Variables that the function in progress has made local, each once.
    pub locals: Shared<BTreeMap<String, Local>>,
    /// `execfail`: the script continues when `exec` fails.
    pub outlives_exec: bool,
    /// The next name is no function: `command NAME`.
    pub skips_functions: bool,
    /// `lastpipe`: the last command of a pipeline runs in this shell.
    pub last_pipes: bool,
    /// `allexport`: what is assigned is exported.
    pub exports_all: bool,
    /// Its `echo` reads backslash escapes: that of `sh`, or with `xpg_echo`.
    pub echoes_escapes: bool,
    /// `nullglob`: a pattern that matches no file is no word.
    pub drops_patterns: bool,
    /// `nocasematch` or `extglob`: patterns match more than their characters say.
    pub matches_loosely: bool,
    /// True where it prints each command before it runs: `set -x`.
    pub traces: bool,
    /// The rest of standard input; `None` when it is not part of the text.
    pub stdin: Option<String>,
}

/// What a variable was before a function has made it local.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub variable: Option<Rc<Variable>>,
    pub attribute: Option<Attribute>,
    /// False where a way to the end of the function leaves it as it was.
    pub is_certain: bool,
}

/// Where a shell is if a `cd` has succeeded, and if it has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moved {
    /// [`Shell::missed`] if it has succeeded.
    pub missed: Arc<Vec<Option<String>>>,
    /// The directories before it, and those that it had missed.
    pub before: (Vec<Option<String>>, Arc<Vec<Option<String>>>),
    /// `! cd FOLDER`.
    pub is_negated: bool,
}

impl Shell {
    /// Narrows the state to that in which the last command has succeeded, or failed.
    pub fn end(&mut self, succeeded: bool) {
        let Some(moved) = self.moved.take() else { return };
        if succeeded == moved.is_negated {
            self.enter_one_of(moved.before.0.clone());
            self.missed = Arc::clone(&moved.before.1);
        } else {
            self.missed = Arc::clone(&moved.missed);
        }
    }

    /// True where files and variables are those of this machine.
    pub fn is_here(&self) -> bool {
        self.hosts.is_empty() && !self.is_elsewhere
    }

    pub fn get(&self, name: &str) -> Option<&Variable> {
        let name = if self.attributes.is_empty() { name } else { self.referred(name) };
        self.variables.get(name).map(Rc::as_ref)
    }

    pub fn set(&mut self, name: &str, value: Value, origin: Origin) {
        let exported = self.get(name).is_some_and(|old| old.exported);
        let target = (!self.attributes.is_empty()).then(|| self.referred(name).to_owned());
        let name = target.as_deref().unwrap_or(name);
        let value = if target.is_some() { self.stored(name, value) } else { value };
        let exported = exported || self.exports_all || self.exported_names.contains(name);
        let variable = Variable { exported, ..Variable::of(value, origin) };
        self.put(name, variable);
    }

    /// Puts a variable in the place of one with this name.
    pub fn put(&mut self, name: &str, variable: Variable) {
        Shared::make_mut(&mut self.variables).insert(name, Rc::new(variable));
    }

    pub fn set_text(&mut self, name: &str, text: impl Into<String>) {
        self.set(name, Value::Scalar(text.into()), Origin::Assigned);
    }

    /// States that the value of a variable is computed.
    pub fn mark_computed(&mut self, name: &str) {
        let name = self.referred(name).to_owned();
        let Some(variable) = Shared::make_mut(&mut self.variables).get_mut(&name) else { return };
        let variable = Rc::make_mut(variable);
        variable.origin = Origin::Computed;
        for choice in variable.choices.as_mut().map(Rc::make_mut).into_iter().flatten().flatten() {
            choice.origin = Origin::Computed;
        }
    }

    /// Moves the value out and leaves the variable unset.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let target = (!self.attributes.is_empty()).then(|| self.referred(name).to_owned());
        let name = target.as_deref().unwrap_or(name);
        let variables = Shared::make_mut(&mut self.variables);
        let variable = Rc::make_mut(variables.get_mut(name)?);
        variable.choices = None;
        Some(std::mem::replace(&mut variable.value, Value::Unset))
    }

    /// Resets a variable to its state in another shell.
    pub fn restore(&mut self, name: &str, from: &Self) {
        match from.get(name) {
            Some(old) => self.put(name, old.clone()),
            None => Shared::make_mut(&mut self.variables).remove(name),
        }
    }

    /// Exports a variable to the commands that follow, as soon as it has a value.
    pub fn export(&mut self, name: &str) {
        match Shared::make_mut(&mut self.variables).get_mut(name) {
            Some(variable) => Rc::make_mut(variable).exported = true,
            None => drop(Shared::make_mut(&mut self.exported_names).insert(name.to_owned())),
        }
    }

    /// Makes a variable one that commands do not get.
    pub fn keep_back(&mut self, name: &str) {
        if self.exported_names.contains(name) {
            Shared::make_mut(&mut self.exported_names).remove(name);
        }
        if self.variables.get(name).is_some_and(|variable| variable.exported)
            && let Some(variable) = Shared::make_mut(&mut self.variables).get_mut(name)
        {
            let variable = Rc::make_mut(variable);
            variable.exported = false;
            for choice in variable.choices.as_mut().map(Rc::make_mut).into_iter().flatten().flatten() {
                choice.exported = false;
            }
        }
    }

    /// Removes exported variables, as `env -u` does.
    pub fn unexport(&mut self, is_removed: impl Fn(&str) -> bool) {
        let exported = self.variables.iter().filter(|(name, variable)| variable.exported && is_removed(name));
        for name in exported.map(|(name, _)| Rc::clone(name)).collect::<Vec<_>>() {
            Shared::make_mut(&mut self.variables).remove(&name);
        }
    }

    /// Sets the positional parameters.
    pub fn set_args(&mut self, args: Args) {
        self.args_unknown = args.is_none();
        self.args = args.unwrap_or_default();
        self.args_choices = Shared::default();
    }

    /// What the positional parameters may be.
    pub fn possible_args(&self) -> Vec<Args> {
        if self.args_choices.is_empty() {
            let is_unknown = self.args_unknown && self.args.is_empty();
            return vec![(!is_unknown).then(|| self.args.clone())];
        }
        self.args_choices.to_vec()
    }

    /// Defines a function.
    pub fn define(&mut self, name: &str, body: Body) {
        Shared::make_mut(&mut self.functions).insert(name.to_owned(), body);
        self.settle(name);
    }

    /// Removes a function.
    pub fn undefine(&mut self, name: &str) {
        Shared::make_mut(&mut self.functions).remove(name);
        self.settle(name);
    }

    fn settle(&mut self, function: &str) {
        if self.function_choices.contains_key(function) {
            Shared::make_mut(&mut self.function_choices).remove(function);
        }
    }

    /// Changes the directory.
    pub fn enter(&mut self, folder: Option<String>) {
        self.cwd = folder;
        self.folders = Shared::default();
        self.missed = Arc::default();
        self.moved = None;
    }

    /// Changes the directory to one of these.
    pub fn enter_one_of(&mut self, folders: Vec<Option<String>>) {
        match folders.as_slice() {
            [folder] => self.enter(folder.clone()),
            [] => self.enter(None),
            _ => {
                self.enter(None);
                self.has_choices = true;
                self.folders = Shared::new(folders);
            }
        }
    }

    /// Follows a path from the working directory, for a command that does not run where that fails.
    pub fn go(&mut self, dir: &str) {
        let missed = self.missed.iter().map(|folder| Self::follow_from(folder.as_deref(), dir)).collect();
        self.enter(self.follow(dir));
        self.missed = Arc::new(missed);
    }

    /// The directories in which it may be.
    pub fn possible_folders(&self) -> Vec<Option<String>> {
        if self.folders.is_empty() { vec![self.cwd.clone()] } else { self.folders.to_vec() }
    }

    /// The directories in which it may be, also where a `cd` has failed; `None` where one of them is unknown.
    pub fn places(&self) -> Option<Vec<String>> {
        let known = |folder: &Option<String>| folder.clone().filter(|folder| folder.starts_with('/'));
        self.possible_folders().iter().chain(self.missed.iter()).map(known).collect()
    }

    /// A copy of this shell as a process of its own. The loops around it are not its own: `continue` does nothing.
    pub fn forked(&self) -> Self {
        Self { in_loop: false, ..self.clone() }
    }

    /// A child process of this shell: inherits only what is exported.
    pub fn child(&self) -> Self {
        let functions = self.functions.iter().filter(|(name, _)| self.exported_functions.contains(name));
        let exported = self.variables.iter().filter(|(name, v)| v.exported && name.as_ref() != "PWD");
        Self {
            variables: Shared::new(exported.collect()),
            functions: Shared::new(functions.map(|(k, v)| (k.clone(), Rc::clone(v))).collect()),
            function_choices: Shared::default(),
            args: Shared::default(),
            args_unknown: false,
            args_choices: Shared::default(),
            traps: Shared::default(),
            name: None,
            aliases: Aliases::default(),
            in_function: false,
            in_loop: false,
            ..self.clone()
        }
    }

    /// A shell on another machine or in a container: inherits no variables, functions or directory.
    pub fn elsewhere(&self) -> Self {
        Self {
            hosts: Arc::clone(&self.hosts),
            via: Arc::clone(&self.via),
            repeats: self.repeats,
            stdin: self.stdin.clone(),
            is_elsewhere: true,
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

    /// The path of `dir` from the root, or from a home (`~`) in which the working directory is; `None` when that is unknown or the
    /// path has more than [`DEEPEST_FOLDER`] names.
    pub fn follow(&self, dir: &str) -> Option<String> {
        Self::follow_from(self.cwd.as_deref(), dir)
    }

    /// The same from another working directory.
    pub fn follow_from(cwd: Option<&str>, dir: &str) -> Option<String> {
        let start = if dir.starts_with('/') { "" } else { cwd? };
        let names = fold(start, dir);
        let is_at_home = start.starts_with('~') && names.first().is_some_and(|name| name.starts_with('~'));
        let root = if is_at_home { "" } else { "/" };
        (names.len() <= DEEPEST_FOLDER).then(|| format!("{root}{}", names.join("/")))
    }
}
