//! The state of a shell where ways come together: what differs may be as on any of them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::shared::Shared;
use crate::shell::state::{Args, Attribute, Body, Local, MOST_MISSED, Shell, Value, Variable, is_same};
use crate::shell::text::{Origin, Unknown};

/// Maximum number of values of one variable; beyond it, the value is unknown.
pub(crate) const MOST_CHOICES: usize = 16;

impl Evaluator {
    /// Joins the state at the end of another way into `shell`.
    pub fn join(&mut self, shell: &mut Shell, other: &Shell) {
        if !Shared::ptr_eq(&other.variables, &shell.variables) {
            self.join_variables(shell, other);
        }
        join_functions(shell, other);
        join_args(shell, other);
        if shell.cwd != other.cwd || shell.folders != other.folders {
            let mut folders = shell.possible_folders();
            add_new(&mut folders, other.possible_folders());
            shell.has_choices = true;
            shell.cwd = None;
            folders.truncate(MOST_MISSED + 1);
            shell.folders = Shared::new(folders);
        }
        if shell.missed != other.missed {
            let missed = Arc::make_mut(&mut shell.missed);
            add_new(missed, other.missed.to_vec());
            missed.truncate(MOST_MISSED + 1);
        }
        shell.moved = None;
        if shell.old_cwd != other.old_cwd {
            shell.old_cwd = None;
        }
        if shell.stdin != other.stdin {
            let texts = [shell.stdin.take(), other.stdin.clone()].into_iter().flatten().collect();
            shell.stdin = Some(self.one_of(texts, "…"));
        }
        if !Shared::ptr_eq(&shell.exported_names, &other.exported_names) {
            Shared::make_mut(&mut shell.exported_names).extend(other.exported_names.iter().cloned());
        }
        self.join_attributes(shell, other);
        if !Shared::ptr_eq(&shell.readonly, &other.readonly) {
            Shared::make_mut(&mut shell.readonly).extend(other.readonly.iter().cloned());
        }
        if !Shared::ptr_eq(&shell.associative, &other.associative) {
            Shared::make_mut(&mut shell.associative).extend(other.associative.iter().cloned());
        }
        extend(&mut shell.aliases.defined, &other.aliases.defined);
        extend(&mut shell.aliases.active, &other.aliases.active);
        for (signal, commands) in other.traps.iter() {
            if shell.traps.get(signal) != Some(commands) {
                add_new(
                    Shared::make_mut(&mut shell.traps).entry(signal.clone()).or_default(),
                    commands.clone(),
                );
            }
        }
        if shell.exported_functions != other.exported_functions {
            let exported = other.exported_functions.to_vec();
            add_new(Shared::make_mut(&mut shell.exported_functions), exported);
        }
        if !Shared::ptr_eq(&shell.locals, &other.locals) {
            self.join_locals(shell, other);
        }
        shell.output = shell.output.take().or_else(|| other.output.clone());
        shell.aliases.enabled |= other.aliases.enabled;
        shell.outlives_exec |= other.outlives_exec;
        shell.last_pipes |= other.last_pipes;
        shell.exports_all |= other.exports_all;
        shell.drops_patterns |= other.drops_patterns;
        shell.matches_loosely |= other.matches_loosely;
        shell.traces |= other.traces;
        shell.echoes_escapes |= other.echoes_escapes;
        shell.repeats |= other.repeats;
        shell.has_choices |= other.has_choices;
    }

    /// Joins a state into another one that there may not be yet.
    pub fn join_into(&mut self, joined: &mut Option<Shell>, other: Shell) {
        match joined {
            Some(shell) => self.join(shell, &other),
            None => *joined = Some(other),
        }
    }

    fn join_variables(&mut self, shell: &mut Shell, other: &Shell) {
        self.spend(1 + other.variables.len() / 16);
        for name in shell.variables.differing(&other.variables) {
            let (our, their) = (shell.variables.get(&name), other.variables.get(&name));
            let variable = self.either(&name, our, their, other);
            shell.has_choices = true;
            shell.put(&name, variable);
        }
    }

    /// A variable that has an attribute on one of two ways may have it.
    fn join_attributes(&mut self, shell: &mut Shell, other: &Shell) {
        if Shared::ptr_eq(&shell.attributes, &other.attributes) {
            return;
        }
        let names = shell.attributes.keys().chain(other.attributes.keys());
        let differs = |name: &&String| shell.attributes.get(*name) != other.attributes.get(*name);
        for name in names.filter(differs).cloned().collect::<Vec<_>>() {
            Shared::make_mut(&mut shell.attributes).insert(name.clone(), Attribute::Doubtful);
            if let Some(variable) =
                shell.variables.get(name.as_str()).map(|variable| Variable::clone(variable))
            {
                let variable = self.forgotten(&name, &[Some(variable)], shell);
                shell.put(&name, variable);
            }
        }
    }

    /// Variables that may be readonly may have the values that they had before a command.
    pub fn keep_readonly(&mut self, shell: &mut Shell, before: &Shell) {
        for name in before.readonly.iter().map(String::as_str) {
            let (our, their) = (shell.variables.get(name), before.variables.get(name));
            if !is_same(our.map(Rc::as_ref), their.map(Rc::as_ref)) {
                let variable = self.either(name, our, their, before);
                shell.has_choices = true;
                shell.put(name, variable);
            }
        }
    }

    /// A variable that is local on one of two ways may be local.
    fn join_locals(&mut self, shell: &mut Shell, other: &Shell) {
        let locals = Shared::make_mut(&mut shell.locals);
        for (name, local) in locals.iter_mut() {
            let Some(their) = other.locals.get(name) else {
                local.is_certain = false;
                continue;
            };
            local.is_certain &= their.is_certain;
            if !is_same(local.variable.as_deref(), their.variable.as_deref()) {
                let either = self.either(name, local.variable.as_ref(), their.variable.as_ref(), other);
                local.variable = Some(Rc::new(either));
            }
        }
        for (name, local) in other.locals.iter() {
            locals.entry(name.clone()).or_insert_with(|| Local { is_certain: false, ..local.clone() });
        }
    }

    /// A variable that is as one of two.
    pub fn either(
        &mut self,
        name: &str,
        our: Option<&Rc<Variable>>,
        their: Option<&Rc<Variable>>,
        shell: &Shell,
    ) -> Variable {
        let mut choices = possible(our.map(Rc::as_ref));
        for choice in possible(their.map(Rc::as_ref)) {
            if !choices.iter().any(|known| is_same(known.as_ref(), choice.as_ref())) {
                choices.push(choice);
            }
        }
        self.variable_of(name, choices, shell)
    }

    /// A variable that is as one of these.
    pub fn variable_of(&mut self, name: &str, choices: Vec<Option<Variable>>, shell: &Shell) -> Variable {
        let exported = choices.iter().flatten().any(|choice| choice.exported);
        if choices.len() > MOST_CHOICES {
            // The number of a round or an output is no command.
            let texts = |this: &mut Self, choice: &Option<Variable>| {
                this.texts_of(name, choice.as_ref().map(|variable| &variable.value))
            };
            if choices.iter().any(|choice| texts(self, choice).iter().any(|text| self.begins_program(text))) {
                self.complain(Complaint::ManyValues);
            }
            return Variable { exported, ..self.forgotten(name, &choices, shell) };
        }
        let mut texts: Vec<String> = Vec::new();
        for choice in &choices {
            add_new(&mut texts, self.texts_of(name, choice.as_ref().map(|variable| &variable.value)));
        }
        let value = Value::Scalar(self.one_of(texts, &format!("${name}")));
        let origin = choices.iter().flatten().map(|choice| choice.origin).max().unwrap_or_default();
        let origin = origin.max(Origin::Assigned);
        Variable { exported, choices: Some(Rc::new(choices)), ..Variable::of(value, origin) }
    }

    /// Whether a text is the name of a program and words behind it.
    fn begins_program(&self, text: &str) -> bool {
        let mut words = text.split_whitespace();
        words.next().is_some_and(|name| self.catalogue.find(name).is_some()) && words.next().is_some()
    }

    /// A variable that may have any value. The texts that are lost and may act are added as unread text.
    pub fn forgotten(&mut self, name: &str, choices: &[Option<Variable>], shell: &Shell) -> Variable {
        let mut lost: Vec<String> = Vec::new();
        for choice in choices {
            add_new(&mut lost, self.texts_of(name, choice.as_ref().map(|variable| &variable.value)));
        }
        let is_foreign = lost.iter().any(|text| self.unknowns.are_any(text));
        for text in &mut lost {
            *text = self.unknowns.sources(text);
        }
        lost.retain(|text| self.mentions_action(text));
        if !lost.is_empty() {
            self.complain(Complaint::ManyValues);
            self.leave_out(shell, &lost.join("\n"));
        }
        let source = format!("${name}");
        let mark = if is_foreign { self.unknowns.foreign(source) } else { self.unknowns.many(source) };
        let value = Value::Scalar(mark);
        let exported = choices.iter().flatten().any(|choice| choice.exported);
        Variable { exported, ..Variable::of(value, Origin::Assigned) }
    }

    /// The possible texts of a value; `None` is that of the environment.
    fn texts_of(&mut self, name: &str, value: Option<&Value>) -> Vec<String> {
        match value {
            None => vec![String::new(), self.unknowns.many(format!("${name}"))],
            Some(Value::Unset) => vec![String::new()],
            Some(Value::Scalar(text)) => match self.unknowns.only_mark(text) {
                Some(unknown) if !unknown.candidates.is_empty() => unknown.candidates.clone(),
                _ => vec![text.clone()],
            },
            Some(Value::Array(items)) => {
                vec![items.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ")]
            }
        }
    }

    /// A text that is one of these, written as `source`.
    pub fn one_of(&mut self, mut texts: Vec<String>, source: &str) -> String {
        let mut distinct: Vec<String> = Vec::new();
        add_new(&mut distinct, std::mem::take(&mut texts));
        if distinct.len() < 2 {
            return distinct.pop().unwrap_or_default();
        }
        let unknown = if distinct.len() > MOST_CHOICES {
            let is_any = distinct.iter().any(|text| self.unknowns.are_any(text));
            Unknown { made_from: Some(distinct.join("\n")), many: true, is_any, ..Unknown::default() }
        } else {
            Unknown { candidates: distinct, ..Unknown::default() }
        };
        self.unknowns.mark(Unknown { source: source.to_owned(), ..unknown })
    }

    /// Replaces what changes from one round of a loop to the next with unknown values.
    pub fn widen(&mut self, shell: &mut Shell, before: &Shell) {
        if !Shared::ptr_eq(&shell.variables, &before.variables) {
            for name in shell.variables.differing(&before.variables) {
                if let Some(variable) = shell.variables.get(&name) {
                    let forgotten = self.forgotten(&name, &possible(Some(variable)), before);
                    shell.put(&name, forgotten);
                }
            }
        }
        if shell.possible_args() != before.possible_args() {
            let words = shell.possible_args().into_iter().flatten();
            let texts: Vec<String> = words
                .flat_map(|args| args.iter().map(|field| field.text.clone()).collect::<Vec<_>>())
                .collect();
            if texts.iter().any(|text| self.mentions_action(text)) {
                self.complain(Complaint::ManyValues);
            }
            shell.set_args(None);
        }
        if shell.possible_folders() != before.possible_folders() {
            shell.enter(None);
        }
    }
}

/// The states in which a variable may be.
pub(crate) fn possible(variable: Option<&Variable>) -> Vec<Option<Variable>> {
    match variable {
        Some(Variable { choices: Some(choices), .. }) => choices.to_vec(),
        one => vec![one.cloned()],
    }
}

fn join_functions(shell: &mut Shell, other: &Shell) {
    if Shared::ptr_eq(&shell.functions, &other.functions)
        && Shared::ptr_eq(&shell.function_choices, &other.function_choices)
    {
        return;
    }
    let names: BTreeSet<String> = shell.functions.keys().chain(other.functions.keys()).cloned().collect();
    for name in names {
        let mut bodies = shell.bodies(&name);
        for body in other.bodies(&name) {
            if !bodies.iter().any(|known| is_same_body(known.as_ref(), body.as_ref())) {
                bodies.push(body);
            }
        }
        if let Some(body) = bodies.iter().flatten().next() {
            Shared::make_mut(&mut shell.functions).insert(name.clone(), Rc::clone(body));
        }
        if bodies.len() > 1 {
            shell.has_choices = true;
            Shared::make_mut(&mut shell.function_choices).insert(name, bodies);
        }
    }
}

fn join_args(shell: &mut Shell, other: &Shell) {
    if Shared::ptr_eq(&shell.args, &other.args)
        && shell.args_unknown == other.args_unknown
        && Shared::ptr_eq(&shell.args_choices, &other.args_choices)
    {
        return;
    }
    let mut choices: Vec<Args> = shell.possible_args();
    add_new(&mut choices, other.possible_args());
    if choices.len() > 1 {
        shell.set_args(None);
        if choices.len() <= MOST_CHOICES {
            shell.has_choices = true;
            shell.args_choices = Shared::new(choices);
        }
    }
}

impl Shell {
    /// What a name may call: one of these functions, or none.
    pub fn bodies(&self, name: &str) -> Vec<Option<Body>> {
        match self.function_choices.get(name) {
            Some(bodies) => bodies.clone(),
            None => vec![self.functions.get(name).cloned()],
        }
    }

    /// Whether both are the same, as far as it changes from one round of a loop to the next.
    pub fn is_like(&self, other: &Self) -> bool {
        (Shared::ptr_eq(&self.variables, &other.variables)
            || self.variables.differing(&other.variables).is_empty())
            && self.possible_args() == other.possible_args()
            && self.possible_folders() == other.possible_folders()
            && self.missed == other.missed
            && self.has_functions_of(other)
            && self.attributes == other.attributes
            && self.readonly == other.readonly
            && self.traps == other.traps
            && self.aliases.defined == other.aliases.defined
            && self.matches_loosely == other.matches_loosely
            && self.drops_patterns == other.drops_patterns
            && self.traces == other.traces
            && self.echoes_escapes == other.echoes_escapes
    }

    fn has_functions_of(&self, other: &Self) -> bool {
        Shared::ptr_eq(&self.functions, &other.functions)
            || self.functions.keys().chain(other.functions.keys()).all(|name| {
                let (ours, theirs) = (self.bodies(name), other.bodies(name));
                ours.len() == theirs.len()
                    && ours
                        .iter()
                        .all(|our| theirs.iter().any(|their| is_same_body(our.as_ref(), their.as_ref())))
            })
    }
}

/// Whether both bodies are the same text.
fn is_same_body(one: Option<&Body>, other: Option<&Body>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Rc::ptr_eq(one, other) || one.to_string() == other.to_string(),
        _ => false,
    }
}

/// Adds what is not in the list.
pub(crate) fn add_new<T: PartialEq>(list: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

/// Adds the entries that are missing.
fn extend<T: Clone + 'static>(entries: &mut Shared<BTreeMap<String, T>>, more: &Shared<BTreeMap<String, T>>) {
    if !Shared::ptr_eq(entries, more) {
        for (name, value) in more.iter().filter(|(name, _)| !entries.contains_key(*name)).collect::<Vec<_>>()
        {
            Shared::make_mut(entries).insert(name.clone(), value.clone());
        }
    }
}
