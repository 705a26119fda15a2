//! Follows code of other languages as far as its values are constant, and finds the commands that it starts.
//!
//! One evaluator for all languages: it walks the tokens, binds names to values, runs both ways of a condition that is not
//! certain, and calls the functions that the code defines. What it does not understand is skipped and left to the search for
//! calls in [`unfollowed`](super::unfollowed): `handled` states which calls were followed.

mod assignments;
mod brackets;
mod calls;
mod clients;
mod expressions;
mod functions;
mod loops;
mod members;
mod methods;
mod primary;
mod starting;
mod statements;
mod tokens;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::stability::Unstable;
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::text::Part;
pub(crate) use starting::starts_program;
pub(crate) use value::Call;
use value::{Arguments, Function, Unit, Value};

/// The maximum number of tokens that are evaluated.
const MOST_STEPS: usize = 60_000;
/// The maximum number of rounds of a loop that are followed.
const MOST_ROUNDS: usize = 64;
/// The maximum nesting of calls and expressions.
const DEEPEST: usize = 24;
/// The maximum number of calls that are found.
const MOST_FOUND: usize = 256;

/// A call that starts a program, with what its options state.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    pub call: Call,
    /// It may run any number of times.
    pub repeats: bool,
    /// Variables that it sets for the program.
    pub env: Vec<(String, Vec<Part>)>,
    /// The working directory of the program.
    pub cwd: Option<Vec<Part>>,
    /// Its standard input.
    pub input: Option<Vec<Part>>,
    /// The text is only given to a function that may start it.
    pub is_suspected: bool,
}

impl Found {
    /// A call without stated circumstances.
    fn of(call: Call, repeats: bool) -> Self {
        Self { call, repeats, env: vec![], cwd: None, input: None, is_suspected: false }
    }
}

/// What following the code brought.
pub(crate) struct Followed {
    pub found: Vec<Found>,
    /// The indexes of tokens whose calls were followed.
    pub handled: BTreeSet<usize>,
    /// Whether nothing was skipped.
    pub is_complete: bool,
}

#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
struct Evaluator<'a> {
    language: Language,
    main: Rc<Unit>,
    unit: Rc<Unit>,
    /// The next token, and the end of those that may be read.
    at: usize,
    end: usize,
    /// The number of open brackets, in which line breaks have no meaning.
    brackets: usize,
    /// Values of names, those of the innermost function last.
    scopes: Vec<BTreeMap<String, Value>>,
    /// Variables whose values are unknown.
    unstable: Unstable,
    /// Names that functions share with the outermost scope.
    shared: BTreeSet<String>,
    /// The methods of classes.
    methods: BTreeMap<String, Rc<Function>>,
    /// Functions that were defined, and those of them that were called.
    defined: Vec<Rc<Function>>,
    called: Vec<Rc<Function>>,
    /// The calls in progress.
    calls: Vec<Rc<Function>>,
    found: Vec<Found>,
    handled: BTreeSet<usize>,
    /// The number of loops of unknown length around the current place.
    loops: usize,
    steps: usize,
    depth: usize,
    returned: Vec<Value>,
    has_returned: bool,
    is_complete: bool,
    recurses: bool,
    /// Whether a word is the name of a program that acts.
    is_program: &'a dyn Fn(&str) -> bool,
    mentions_engine: bool,
    /// The address of a connection or an engine that the code opened.
    connection: Option<Value>,
    /// Variables that the code set for programs that start later.
    environment: Vec<(String, Vec<Part>)>,
    /// The working directory of programs that start later.
    folder: Option<Vec<Part>>,
    /// The host on which later commands run.
    remote: Option<Value>,
}

/// Follows code. `is_program` states whether a word is the name of a program that acts.
pub(crate) fn follow(code: &str, language: Language, is_program: &dyn Fn(&str) -> bool) -> Followed {
    let unit = Rc::new(Unit::new(code, language));
    let names_engine =
        |name: &str| ["docker", "podman"].iter().any(|engine| name.to_ascii_lowercase().contains(engine));
    let mentions_engine = unit.tokens.iter().any(|token| match token {
        Token::Name(name) => names_engine(name),
        // `require("dockerode")`.
        Token::Text(text) => {
            text.literal().is_some_and(|text| names_engine(text) && !text.contains(' ') && text != "docker")
        }
        _ => false,
    });
    let mut evaluator = Evaluator {
        language,
        at: 0,
        end: unit.tokens.len(),
        main: Rc::clone(&unit),
        unit,
        brackets: 0,
        scopes: vec![BTreeMap::new()],
        unstable: Unstable::of(code, language),
        shared: BTreeSet::new(),
        methods: BTreeMap::new(),
        defined: vec![],
        called: vec![],
        calls: vec![],
        found: vec![],
        handled: BTreeSet::new(),
        loops: 0,
        steps: 0,
        depth: 0,
        returned: vec![],
        has_returned: false,
        is_complete: true,
        recurses: false,
        is_program,
        mentions_engine,
        connection: None,
        environment: vec![],
        folder: None,
        remote: None,
    };
    evaluator.statements();
    evaluator.call_the_rest();
    let mut found = evaluator.found;
    for found in &mut found {
        found.repeats |= evaluator.recurses;
    }
    // Past the limits, a call may have other values than those that were found.
    let is_within = evaluator.steps < MOST_STEPS && found.len() < MOST_FOUND;
    let handled = if is_within { evaluator.handled } else { BTreeSet::new() };
    Followed { found, handled, is_complete: evaluator.is_complete && is_within }
}

impl Evaluator<'_> {
    /// Calls the functions that nothing called, with unknown arguments: something else may.
    fn call_the_rest(&mut self) {
        for at in 0..64 {
            let Some(function) = self.defined.get(at).cloned() else { break };
            if !self.called.contains(&function) {
                let before = self.scopes.clone();
                // How often is not known.
                self.any_times(|this| this.call_function(&function, Arguments::default(), true));
                // It may have run before the rest.
                self.is_complete &= before == self.scopes;
            }
        }
    }

    /// Counts work; false past the limit.
    fn spend(&mut self) -> bool {
        self.steps += 1;
        self.steps < MOST_STEPS
    }

    /// States that the call at an index of the current tokens was followed.
    fn handle(&mut self, at: usize) {
        if Rc::ptr_eq(&self.unit, &self.main) {
            self.handled.insert(at);
        }
    }

    fn lookup(&self, name: &str) -> Option<&Value> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Binds a name. `declares` states that the name is new where it stands.
    fn bind(&mut self, name: &str, value: Value, declares: bool) {
        let is_fixed = value.is_callable() || !self.unstable.has(name);
        let value = if is_fixed { value.bounded() } else { Value::Unknown(format!("${name}")) };
        let innermost = self.scopes.len() - 1;
        let is_shared = self.shared.contains(name);
        let is_own = matches!(self.language, Language::Python | Language::Php);
        let is_global = name.contains('.') || name.starts_with('$');
        let place = self.scopes.iter().rposition(|scope| scope.contains_key(name));
        let outer =
            place.filter(|place| *place < innermost && !declares && !is_global && (is_shared || !is_own));
        let global = if is_global || is_shared { 0 } else { innermost };
        let Some(scope) = self.scopes.get_mut(outer.unwrap_or(global)) else { return };
        // A closure, or a variable of its own: either may be meant.
        let old = scope.get(name).cloned().filter(|_| outer.is_some() && !is_shared);
        let value = if old.is_some() { Value::several(old.into_iter().chain([value])) } else { value };
        scope.insert(name.to_owned(), value);
    }

    /// Forgets the variables that may change in other code, which runs now.
    fn unsettle(&mut self, code: &str) {
        self.unstable.extend(Unstable::of(code, self.language));
        for (name, value) in self.scopes.iter_mut().flatten() {
            if self.unstable.has(name) && !value.is_callable() {
                *value = Value::unknown();
            }
        }
    }

    /// All values that are bound.
    fn values(&mut self) -> impl Iterator<Item = &mut Value> {
        self.scopes.iter_mut().flat_map(BTreeMap::values_mut)
    }

    /// Forgets the values of all names that have this list or table: it may have changed.
    fn forget(&mut self, value: &Value) {
        if matches!(value, Value::List(_) | Value::Table(_) | Value::Several(_)) {
            let affected = self.values().filter(|own| *own == value || contains(own, value));
            affected.for_each(|own| *own = Value::unknown());
        }
    }

    /// Forgets the values of all names that have this text: it may have changed.
    fn forget_text(&mut self, value: &Value) {
        self.values().filter(|own| *own == value).for_each(|own| *own = Value::unknown());
    }

    /// Runs what may run any number of times.
    fn any_times<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        self.loops += 1;
        let result = run(self);
        self.loops -= 1;
        result
    }

    /// Replaces a list by another one wherever it is bound.
    fn replace(&mut self, old: &Value, new: &Value) {
        let equal = self.values().filter(|own| *own == old).count();
        // Two lists may be equal and not the same.
        let new = if equal > 1 { Value::several([old.clone(), new.clone()]) } else { new.clone() };
        let new = new.bounded();
        for own in self.values() {
            if own == old {
                *own = new.clone();
            } else if contains(own, old) {
                *own = Value::unknown();
            }
        }
    }

    /// The state after either of two ways.
    fn join(&mut self, other: Vec<BTreeMap<String, Value>>) {
        for (own, other) in self.scopes.iter_mut().zip(other) {
            for (name, value) in other {
                let mine = own.entry(name).or_insert_with(|| value.clone());
                if *mine != value {
                    *mine = Value::several([mine.clone(), value]);
                }
            }
        }
    }

    fn add(&mut self, call: Call) {
        self.add_found(Found::of(call, self.loops > 0));
    }

    fn add_found(&mut self, mut found: Found) {
        if found.call != Call::Unclear {
            found.env.splice(0..0, self.environment.iter().cloned());
            found.cwd = found.cwd.or_else(|| self.folder.clone());
        }
        // Another round of a loop whose length is unknown.
        if self.found.len() < MOST_FOUND && !(found.repeats && self.found.contains(&found)) {
            self.found.push(found);
        }
    }
}

/// Whether a value contains another one.
fn contains(value: &Value, inner: &Value) -> bool {
    let has = |one: &Value| one == inner || contains(one, inner);
    match value {
        Value::List(items) | Value::Several(items) => items.iter().any(has),
        Value::Table(rows) => rows.iter().any(|(_, one)| has(one)),
        _ => false,
    }
}
