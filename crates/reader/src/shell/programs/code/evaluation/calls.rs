//! Calls of functions: those of the code, those that compute, and those that load code.

use std::rc::Rc;

use super::Evaluator;
use super::methods::{formatted, joined_list, split};
use super::starting::{known, starts_program, suspected};
use super::value::{Arguments, Call, Function, Unit, Value, numbered};
use crate::catalogue::program::Language;
use crate::languages::names::{evaluation as words, perl, starts};

impl Evaluator<'_> {
    /// Calls a value.
    pub(super) fn call(&mut self, value: &Value, arguments: Arguments, at: usize) -> Value {
        match value {
            Value::Function(function) => {
                self.handle(at);
                self.call_function(function, arguments, false)
            }
            Value::Path(path) => self.call_path(path, arguments, at),
            Value::Several(each) => {
                let results: Vec<Value> =
                    each.iter().map(|one| self.call(one, arguments.clone(), at)).collect();
                Value::several(results)
            }
            Value::Result(result) => {
                let own = result.0.rsplit('.').next().unwrap_or_default().to_owned();
                // `docker["restart", "x"]()` of plumbum.
                if (self.is_program)(&own) {
                    let values: Vec<Value> = result.1.iter().cloned().chain(arguments.values).collect();
                    return self.start_program(&own, &values, at);
                }
                self.give(&own, &arguments);
                Value::unknown()
            }
            // `$f = 'system'; $f('…')`.
            Value::Text(_) if self.is_php() => {
                if let Some(name) = value.known() {
                    return self.call_path(&name, arguments, at);
                }
                self.add(Call::Unclear);
                Value::unknown()
            }
            _ => {
                if !self.request("", &arguments) {
                    self.give("", &arguments);
                }
                Value::unknown()
            }
        }
    }

    /// Calls a function with unknown arguments.
    pub(super) fn call_unknown(&mut self, value: &Value) {
        match value {
            Value::Function(function) => drop(self.call_function(function, Arguments::default(), true)),
            Value::Path(path) if starts_program(path, self.language) => self.add(Call::Unclear),
            _ => {}
        }
    }

    /// Calls a function that the code does not define.
    pub(super) fn call_path(&mut self, path: &str, arguments: Arguments, at: usize) -> Value {
        let (owner, own) = path.rsplit_once('.').unwrap_or(("", path));
        let is_module = owner.split('.').next().is_some_and(|first| starts::MODULES.has(first));
        if !is_module && let Some(function) = self.methods.get(own).cloned() {
            self.handle(at);
            return self.call_function(&function, arguments, false);
        }
        if let Some(value) = self.loaded(own, &arguments) {
            self.handle(at);
            return value;
        }
        if own == "open" && matches!(self.language, Language::Perl | Language::Ruby) {
            self.handle(at);
            self.open(&arguments);
            return Value::unknown();
        }
        if starts_program(path, self.language) {
            return self.start(own, &arguments, at);
        }
        if self.is_perl() && perl::CHANGING.has(own) && at < self.unit.tokens.len() {
            let end = self.statement_end(at + 1);
            self.forget_names(at + 1, end);
        }
        if words::ENVIRONMENTS.has(owner) && words::CHANGING_ENVIRONMENTS.has(own) {
            self.set_variables(&arguments);
        }
        if own == "assign"
            && matches!(arguments.values.first(), Some(Value::Path(path)) if words::ENVIRONMENTS.has(path))
        {
            self.set_variables(&Arguments::of(arguments.rest()));
        }
        if own == "chdir" && matches!(owner, "os" | "process" | "Dir" | "") {
            self.folder = Some(arguments.first().parts());
        }
        if self.language == Language::Awk && matches!(own, "sub" | "gsub") {
            for value in &arguments.values {
                self.forget_text(value);
            }
        }
        if (self.is_program)(own) && arguments.values.iter().any(|value| matches!(value, Value::Text(_))) {
            return self.start_program(own, &arguments.values, at);
        }
        if let Some(value) = self.function_result(owner, own, &arguments) {
            self.handle(at);
            return value;
        }
        let receiver = if owner.is_empty() { Value::unknown() } else { Value::Path(owner.to_owned()) };
        self.library(&receiver, own, arguments, at)
    }

    /// Modules that are loaded, functions that are named by texts, and code in texts.
    pub(super) fn loaded(&mut self, own: &str, arguments: &Arguments) -> Option<Value> {
        let first = arguments.first();
        let text = first.known();
        let is_python = self.is_python();
        match own {
            "require" | "import" | "__import__" | "import_module" => {
                let module = text.map(|module| module.trim_start_matches("node:").to_owned());
                Some(module.map(Value::Path).unwrap_or_default())
            }
            "getattr" => match (first, arguments.values.get(1).and_then(Value::known)) {
                (Value::Path(path), Some(name)) => Some(Value::Path(format!("{path}.{name}"))),
                _ => None,
            },
            "call_user_func" | "send" | "public_send" | "__send__" => {
                Some(self.call_path(&text?, Arguments::of(arguments.rest()), usize::MAX))
            }
            "eval" | "exec" if own == "eval" || (is_python && !arguments.values.is_empty()) => {
                let code = text?;
                self.unsettle(&code);
                let unit = Rc::new(Unit::new(&code, self.language));
                let end = unit.tokens.len();
                let returned = self.has_returned;
                self.within_unit(unit, (0, end), Self::statements);
                self.has_returned = returned;
                // What the text calls was found; what was not understood there is searched by nothing else.
                if !self.is_complete && self.mentions(&code) {
                    self.add_found(suspected(Call::Script(known(&code)), self.loops > 0));
                }
                Some(Value::unknown())
            }
            "promisify" | "wrap" | "wraps" => Some(first),
            "partial" => match first {
                Value::Function(function) => {
                    let given = function.given.iter().cloned().chain(arguments.rest()).collect();
                    self.called.push(Rc::clone(&function));
                    Some(Value::Function(Rc::new(Function { given, ..(*function).clone() })))
                }
                Value::Path(path) => {
                    let given = Arguments { values: arguments.rest(), named: arguments.named.clone() };
                    Some(self.call_path(&path, given, usize::MAX))
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn mentions(&self, text: &str) -> bool {
        text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
            .any(|word| (self.is_program)(word))
    }

    /// The result of a function that only computes.
    pub(super) fn function_result(&mut self, owner: &str, own: &str, arguments: &Arguments) -> Option<Value> {
        let first = arguments.first();
        let second = || arguments.values.get(1).cloned();
        Some(match own {
            "str" | "String" | "bytes" | "repr" if arguments.values.len() == 1 => Value::Text(first.parts()),
            "escapeshellarg" | "quote" | "escape" | "shellescape" => first,
            "list" | "tuple" | "sorted" | "Array" | "iter" if arguments.named.is_empty() => {
                if arguments.values.is_empty() { Value::List(vec![]) } else { Value::List(first.items()?) }
            }
            "dict" => {
                let rows = if let Value::Table(rows) = first { rows } else { vec![] };
                Value::Table(rows.into_iter().chain(arguments.named.clone()).collect())
            }
            "len" | "count" => Value::Number(i64::try_from(first.items()?.len()).ok()?),
            "range" => match arguments.values.as_slice() {
                [end] => Value::range(Some(0), end.number().map(|end| end - 1))?,
                [start, end] => Value::range(start.number(), end.number().map(|end| end - 1))?,
                _ => return None,
            },
            "enumerate" => numbered(&first.items()?),
            "entries" | "keys" | "values" if owner == "Object" && matches!(first, Value::Table(_)) => {
                self.computed(&first, own, &Arguments::default())?
            }
            "map" if first.is_callable() => Value::List(self.for_each(&first, &second()?)),
            "format" | "sprintf" => formatted(&first, &Value::List(arguments.rest())),
            "implode" => joined_list(&second()?, &first),
            "explode" => split(&second()?.known()?, first.known().as_deref()),
            "join" if matches!(self.language, Language::Perl) => {
                joined_list(&Value::List(arguments.rest()), &first)
            }
            "join" if owner == "shlex" || owner == "Shellwords" => joined_list(&first, &Value::text(" ")),
            "split" | "shellsplit" if matches!(owner, "shlex" | "Shellwords") => split(&first.known()?, None),
            "split" if self.language == Language::Awk => {
                // `split("a b", list, " ")`, which counts from 1.
                let items = split(&first.known()?, None).items()?;
                let Some(Value::Path(name) | Value::Unknown(name)) = second() else { return None };
                let length = items.len();
                let rows = items.into_iter().enumerate().map(|(at, item)| ((at + 1).to_string(), item));
                let rows = Value::Table(rows.collect());
                self.bind(&name, rows, false);
                Value::Number(i64::try_from(length).ok()?)
            }
            "putenv" => {
                let text = first.known().unwrap_or_default();
                let (name, value) = text.split_once('=').unzip();
                self.set_variable(name.map(str::to_owned), &value.map(Value::text).unwrap_or_default());
                Value::unknown()
            }
            "define" => {
                let name = first.known()?;
                self.bind(&name, second()?, true);
                Value::unknown()
            }
            "print" | "puts" | "echo" | "console.log" | "sleep" | "exit" => {
                return starts::HARMLESS.has(own).then(Value::unknown);
            }
            _ => return None,
        })
    }

    /// `shift` in a function of Perl.
    pub(super) fn shift(&mut self) -> Value {
        match self.lookup("@_").cloned() {
            Some(Value::List(mut items)) if !items.is_empty() => {
                let first = items.remove(0);
                self.bind("@_", Value::List(items), true);
                first
            }
            _ => Value::Unknown("shift".to_owned()),
        }
    }
}
