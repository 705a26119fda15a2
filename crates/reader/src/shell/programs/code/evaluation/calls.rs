//! Calls: of functions that compute, that start programs, and that act through libraries.

use std::rc::Rc;

use super::expressions::range;
use super::methods::{Arguments, joined_list, split};
use super::value::{Function, Value};
use super::{Evaluator, Found, Unit};
use crate::catalogue::program::Language;
use crate::languages::names::{python, starts};
use crate::languages::text::Part;
use crate::shell::programs::code::interpreter_calls::Call;

/// The maximum number of commands that one call may start, where its arguments have several values.
const MOST_WAYS: usize = 8;

fn known(text: &str) -> Vec<Part> {
    vec![Part::Known(text.to_owned())]
}

/// The text of the known pieces.
fn shown(parts: &[Part]) -> String {
    parts
        .iter()
        .map(|part| match part {
            Part::Known(text) | Part::Unknown(text) => text.as_str(),
        })
        .collect()
}

fn has_known(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Known(text) if !text.trim().is_empty()))
}

impl Evaluator<'_> {
    /// Calls a value.
    pub(super) fn call(&mut self, value: &Value, arguments: Arguments, at: usize) -> Value {
        match value {
            Value::Function(function) => {
                self.handle(at);
                self.call_function(function, arguments.values, arguments.named, false)
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
                    let values = result.1.iter().cloned().chain(arguments.values).collect();
                    return self.start_program(&own, values, at);
                }
                self.give(&own, &arguments);
                Value::unknown()
            }
            // `$f = 'system'; $f('…')`.
            Value::Text(_) if self.language == Language::Php => match value.known() {
                Some(name) => self.call_path(&name, arguments, at),
                None => {
                    self.add(Call::Unclear);
                    Value::unknown()
                }
            },
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
            Value::Function(function) => drop(self.call_function(function, vec![], vec![], true)),
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
            return self.call_function(&function, arguments.values, arguments.named, false);
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
        if self.language == Language::Awk && matches!(own, "sub" | "gsub") {
            for value in &arguments.values {
                self.forget_text(value);
            }
        }
        if (self.is_program)(own) && arguments.values.iter().any(|value| matches!(value, Value::Text(_))) {
            return self.start_program(own, arguments.values, at);
        }
        if let Some(value) = self.function_result(owner, own, &arguments) {
            self.handle(at);
            return value;
        }
        let receiver = if owner.is_empty() { Value::unknown() } else { Value::Path(owner.to_owned()) };
        self.library(&receiver, own, arguments, at)
    }

    /// Modules that are loaded, functions that are named by texts, and code in texts.
    fn loaded(&mut self, own: &str, arguments: &Arguments) -> Option<Value> {
        let first = arguments.first();
        let text = first.known();
        let is_python = self.language == Language::Python;
        match own {
            "require" | "import" | "__import__" | "import_module" => {
                Some(text.map_or_else(Value::unknown, |module| {
                    Value::Path(module.trim_start_matches("node:").to_owned())
                }))
            }
            "getattr" => match (first, arguments.values.get(1).and_then(Value::known)) {
                (Value::Path(path), Some(name)) => Some(Value::Path(format!("{path}.{name}"))),
                _ => None,
            },
            "call_user_func" | "send" | "public_send" | "__send__" => {
                let name = text?;
                let values = arguments.values.iter().skip(1).cloned().collect();
                Some(self.call_path(&name, Arguments { values, named: vec![] }, usize::MAX))
            }
            "eval" | "exec" if own == "eval" || (is_python && arguments.values.first().is_some()) => {
                let code = text?;
                let unit = Rc::new(Unit::new(&code, self.language));
                let end = unit.tokens.len();
                let before = std::mem::replace(&mut self.unit, unit);
                let returned = self.has_returned;
                self.within((0, end), Self::statements);
                self.has_returned = returned;
                self.unit = before;
                // What the text calls was found; what was not understood there is searched by nothing else.
                if !self.is_complete && self.mentions(&code) {
                    self.add_found(suspected(Call::Script(known(&code)), self.loops > 0));
                }
                Some(Value::unknown())
            }
            "promisify" | "wrap" | "wraps" => Some(first),
            "partial" => {
                let values: Vec<Value> = arguments.values.iter().skip(1).cloned().collect();
                match first {
                    Value::Function(function) => {
                        let given = function.given.iter().cloned().chain(values).collect();
                        let Function { name, parameters, is_expression, unit, body, .. } = &*function;
                        self.called.push(Rc::clone(&function));
                        Some(Value::Function(Rc::new(Function {
                            name: name.clone(),
                            parameters: parameters.clone(),
                            is_expression: *is_expression,
                            unit: Rc::clone(unit),
                            body: *body,
                            given,
                        })))
                    }
                    Value::Path(path) => Some(self.call_path(
                        &path,
                        Arguments { values, named: arguments.named.clone() },
                        usize::MAX,
                    )),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn mentions(&self, text: &str) -> bool {
        text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
            .any(|word| (self.is_program)(word))
    }

    /// The result of a function that only computes.
    fn function_result(&mut self, owner: &str, own: &str, arguments: &Arguments) -> Option<Value> {
        let first = arguments.first();
        let second = || arguments.values.get(1).cloned();
        let is_keys = owner == "Object";
        Some(match own {
            "str" | "String" | "bytes" | "repr" if arguments.values.len() == 1 => Value::Text(match &first {
                Value::Text(parts) => parts.clone(),
                value => value.parts(),
            }),
            "int" | "Number" | "parseInt" => first.number().map_or_else(Value::unknown, Value::Number),
            "escapeshellarg" | "quote" | "escape" | "shellescape" => first,
            "list" | "tuple" | "sorted" | "Array" | "iter" if arguments.named.is_empty() => {
                if arguments.values.is_empty() { Value::List(vec![]) } else { Value::List(first.items()?) }
            }
            "reversed" => Value::List(first.items()?.into_iter().rev().collect()),
            "set" | "frozenset" => Value::List(first.items()?),
            "dict" => {
                let rows = if let Value::Table(rows) = first { rows } else { vec![] };
                Value::Table(rows.into_iter().chain(arguments.named.clone()).collect())
            }
            "len" | "count" => Value::Number(i64::try_from(first.items()?.len()).ok()?),
            "range" => match arguments.values.as_slice() {
                [end] => range(Some(0), end.number().map(|end| end - 1))?,
                [start, end] => range(start.number(), end.number().map(|end| end - 1))?,
                _ => return None,
            },
            "enumerate" => Value::List(
                first
                    .items()?
                    .into_iter()
                    .enumerate()
                    .map(|(at, item)| Value::List(vec![Value::text(at.to_string()), item]))
                    .collect(),
            ),
            "zip" => {
                let two = second()?.items()?;
                Value::List(
                    first
                        .items()?
                        .into_iter()
                        .zip(two)
                        .map(|(one, two)| Value::List(vec![one, two]))
                        .collect(),
                )
            }
            "entries" | "keys" | "values" if is_keys => {
                let Value::Table(rows) = first else { return None };
                Value::List(
                    rows.into_iter()
                        .map(|(key, value)| match own {
                            "keys" => Value::text(key),
                            "values" => value,
                            _ => Value::List(vec![Value::text(key), value]),
                        })
                        .collect(),
                )
            }
            "map" if first.is_callable() => Value::List(self.for_each(&first, &second()?)),
            "format" | "sprintf" => {
                let values = arguments.values.iter().skip(1).cloned().collect();
                self.formatted(&first, &Value::List(values))
            }
            "implode" => joined_list(&second()?, &first),
            "explode" => split(&second()?.known()?, first.known().as_deref()),
            "join" if matches!(self.language, Language::Perl) => {
                joined_list(&Value::List(arguments.values.iter().skip(1).cloned().collect()), &first)
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
                let (name, value) = text.split_once('=').map_or((None, Value::unknown()), |(name, value)| {
                    (Some(name.to_owned()), Value::text(value))
                });
                self.set_variable(name, &value);
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

    /// A text that a shell runs.
    pub(super) fn start_script(&mut self, value: &Value, at: usize) {
        self.handle(at);
        for value in value.each() {
            let parts = value.parts();
            self.add(if has_known(&parts) { Call::Script(parts) } else { Call::Unclear });
        }
    }

    /// `open(F, "command|")`, `open(F, "-|", "command", …)` and `open("|command")` of Perl and Ruby.
    fn open(&mut self, arguments: &Arguments) {
        let texts: Vec<Option<String>> = arguments.values.iter().map(Value::known).collect();
        let mode = texts.iter().position(|text| matches!(text.as_deref().map(str::trim), Some("-|" | "|-")));
        if let Some(mode) = mode {
            let values = arguments.values.iter().skip(mode + 1).cloned().collect();
            self.start("open", &Arguments { values, named: vec![] }, usize::MAX);
            return;
        }
        for value in arguments.values.iter().filter(|value| matches!(value, Value::Text(_))) {
            let whole = shown(&value.parts());
            let text = whole.trim();
            if text.starts_with('|') || text.ends_with('|') {
                let parts = value.parts().into_iter().map(|part| match part {
                    Part::Known(text) => Part::Known(text.trim_matches(['|', ' ']).to_owned() + " "),
                    unknown @ Part::Unknown(_) => unknown,
                });
                let parts: Vec<Part> = parts.collect();
                let is_one = parts.len() == 1;
                let parts = if is_one { known(text.trim_matches('|').trim()) } else { parts };
                self.start_script(&Value::Text(parts), usize::MAX);
                return;
            }
        }
        // A file, which may be written.
        self.is_complete = false;
        let has_text = arguments.values.iter().any(|value| matches!(value, Value::Text(_)));
        if !has_text && arguments.values.len() > 1 {
            self.add(Call::Unclear);
        }
    }

    /// A program whose name is that of a function.
    fn start_program(&mut self, program: &str, values: Vec<Value>, at: usize) -> Value {
        self.handle(at);
        let words = std::iter::once(known(program)).chain(values.iter().map(Value::parts)).collect();
        self.add(Call::Words(words));
        Value::Result(Rc::new((program.to_owned(), vec![])))
    }

    /// A call that starts a program or a shell.
    fn start(&mut self, own: &str, arguments: &Arguments, at: usize) -> Value {
        self.handle(at);
        let result = Value::Result(Rc::new((own.to_owned(), vec![])));
        let mut values = arguments.values.clone();
        for name in ["args", "cmd", "command", "program"] {
            if let Some((_, value)) = arguments.named.iter().find(|(own, _)| own == name) {
                values.insert(0, value.clone());
                break;
            }
        }
        if values.is_empty() {
            if !arguments.named.is_empty() {
                self.add(Call::Unclear);
            }
            return result;
        }
        // Variables of the program, or how it is started.
        let is_mode = |value: &Value| match value {
            Value::Table(_) => true,
            Value::Path(path) => own.starts_with("spawn") && path.contains("P_"),
            _ => false,
        };
        let mut env = vec![];
        if values.first().is_some_and(is_mode) && values.len() > 1 {
            if let Value::Table(rows) = values.remove(0) {
                env.extend(rows.into_iter().map(|(name, value)| (name, value.parts())));
            }
        } else if let Some(Value::Table(rows)) = values.first()
            && let Some((_, value)) =
                rows.iter().find(|(name, _)| matches!(name.as_str(), "cmd" | "args" | "file"))
        {
            let value = value.clone();
            values.insert(0, value);
        }
        // `new Deno.Command("docker", {args: […]})`.
        if let (Some(Value::Text(_)), Some(Value::Table(rows))) = (values.first(), values.get(1))
            && let Some((_, list @ Value::List(_))) = rows.iter().find(|(name, _)| name == "args")
        {
            let list = list.clone();
            values.insert(1, list);
        }
        match arguments.option("env") {
            Some(Value::Table(rows)) => {
                env.extend(rows.into_iter().map(|(name, value)| (name, value.parts())))
            }
            Some(Value::Path(path))
                if path.ends_with("environ") || path.ends_with("env") || path == "None" => {}
            Some(_) => self.is_complete = false,
            None => {}
        }
        let cwd = arguments.option("cwd").or_else(|| arguments.option("chdir")).map(|value| value.parts());
        let input = arguments.option("input").map(|value| value.parts());
        let is_python = self.language == Language::Python;
        if arguments.named.iter().any(|(name, _)| is_python && !python::STARTING_OPTIONS.has(name)) {
            self.is_complete = false;
        }
        let is_shell = arguments.option("shell").is_some_and(|value| value.truth() != Some(false));
        let script_first = matches!(self.language, Language::Php | Language::Lua | Language::Awk)
            && own != "pcntl_exec"
            || own == "popen" && self.language == Language::Python;
        if script_first {
            values.truncate(1);
        }
        let mut ways: Vec<(Vec<Vec<Part>>, bool)> = vec![(vec![], false)];
        for value in &values {
            if matches!(value, Value::Table(_) | Value::Function(_))
                || ways.iter().any(|(words, is_list)| *is_list && !words.is_empty())
            {
                break;
            }
            // A `self.is_list` of one way ends the arguments of all.
            let mut next = Vec::new();
            for one in value.each() {
                for (words, _) in &ways {
                    let mut words = words.clone();
                    let is_list = matches!(one, Value::List(_));
                    match &one {
                        Value::List(items) => words.extend(items.iter().map(Value::parts)),
                        one => words.push(one.parts()),
                    }
                    next.push((words, is_list));
                }
            }
            if next.len() > MOST_WAYS {
                self.add(Call::Unclear);
                return result;
            }
            ways = next;
        }
        for (mut words, is_list) in ways {
            if let [first, second, ..] = words.as_slice()
                && first == second
                && own.contains(['e', 's'])
                && own != "run"
            {
                words.remove(0);
            }
            let is_named = words.first().is_some_and(|word| has_known(word));
            if !is_named {
                self.add(Call::Unclear);
            }
            let call = match words.len() {
                0 => continue,
                1 if !is_list || is_shell => Call::Script(words.remove(0)),
                _ if is_list && is_shell && self.language == Language::Python => {
                    Call::Script(words.remove(0))
                }
                _ if is_shell => {
                    let between = vec![Part::Known(" ".to_owned())];
                    Call::Script(super::value::merged(words.join(&between[..])))
                }
                _ => Call::Words(words),
            };
            if !is_named && matches!(&call, Call::Script(_)) {
                continue;
            }
            let repeats = self.loops > 0;
            self.add_found(Found {
                call,
                repeats,
                env: env.clone(),
                cwd: cwd.clone(),
                input: input.clone(),
                is_suspected: false,
                is_guessed: false,
            });
        }
        for function in values.iter().filter(|value| matches!(value, Value::Function(_))) {
            self.call_unknown(function);
        }
        result
    }

    /// A method of a library: of a container, of a connection, of an HTTP client.
    pub(super) fn library(&mut self, receiver: &Value, own: &str, arguments: Arguments, at: usize) -> Value {
        let path = match receiver {
            Value::Path(path) => format!("{path}.{own}"),
            Value::Result(result) => format!("{}.{own}", result.0),
            _ => own.to_owned(),
        };
        if let Some(function) = self.methods.get(own).cloned() {
            self.handle(at);
            return self.call_function(&function, arguments.values, arguments.named, false);
        }
        if let Some(value) = arguments.option("base_url").or_else(|| arguments.option("host")) {
            self.connection = Some(value);
        } else if own.ends_with("Connection") && matches!(self.language, Language::Python) {
            self.connection = arguments.values.first().cloned();
        }
        if own == "connect" {
            self.remote = arguments.option("hostname").or_else(|| arguments.values.first().cloned());
        }
        if self.remote_command(receiver, own, &arguments)
            || self.engine(receiver, own, &arguments)
            || self.request(own, &arguments)
            || self.unit_or_pod(own, &arguments)
        {
            self.handle(at);
        } else if starts::CALLS.has(own)
            && starts::OWNERS.get(own).is_none()
            && !(own == "exec" && self.language == Language::Node)
            && !matches!(receiver, Value::Path(_))
        {
            return self.start(own, &arguments, at);
        } else if let ("then", Value::Path(_), Some(function @ Value::Function(_))) =
            (own, receiver, arguments.values.first())
        {
            // `import("child_process").then(m => …)`.
            let arguments = Arguments { values: vec![receiver.clone()], named: vec![] };
            return self.call(&function.clone(), arguments, at);
        } else {
            self.give(own, &arguments);
        }
        let values =
            arguments.values.into_iter().chain(arguments.named.into_iter().map(|(_, value)| value)).collect();
        Value::Result(Rc::new((path, values)))
    }

    /// `Connection("host").run("…")`, `client.exec_command("…")`.
    fn remote_command(&mut self, receiver: &Value, own: &str, arguments: &Arguments) -> bool {
        let host = match receiver {
            Value::Result(result) if result.0.ends_with("Connection") && starts::REMOTE.has(own) => {
                result.1.first().cloned()
            }
            _ if own == "exec_command" => self.remote.clone(),
            _ => return false,
        };
        let host = host.unwrap_or_else(Value::unknown);
        for command in arguments.first().each() {
            self.add(Call::Words(vec![known("ssh"), host.parts(), command.parts()]));
        }
        true
    }

    /// Methods of a container in the clients of container engines.
    fn engine(&mut self, receiver: &Value, own: &str, arguments: &Arguments) -> bool {
        let verb = match own {
            "remove" => "rm",
            _ if starts::OPERATIONS.has(own) => own,
            _ => return false,
        };
        if !self.mentions_engine {
            return false;
        }
        let name = match receiver {
            Value::Result(result)
                if result.0.rsplit('.').next().is_some_and(|last| starts::GETTERS.has(last)) =>
            {
                result.1.first().cloned()
            }
            _ => None,
        };
        let given =
            arguments.values.first().filter(|value| matches!(value, Value::Text(_) | Value::Several(_)));
        let Some(name) = name.or_else(|| given.cloned()) else {
            if verb == "rm" && !matches!(receiver, Value::Unknown(_)) {
                return false;
            }
            // All containers, where nothing names one.
            self.add(Call::Words(vec![known("docker"), known(verb), vec![Part::Unknown("…".to_owned())]]));
            return true;
        };
        let host = self
            .connection
            .as_ref()
            .filter(|value| value.known().is_none_or(|text| !text.starts_with("unix")));
        let host: Vec<Vec<Part>> =
            host.map(|host| vec![known("-H"), host.parts()]).into_iter().flatten().collect();
        let force = if verb == "rm" { Some(known("-f")) } else { None };
        for name in name.each() {
            let words = std::iter::once(known("docker")).chain(host.clone()).chain([known(verb)]);
            let call = Call::Words(words.chain(force.clone()).chain([name.parts()]).collect());
            self.add(call);
        }
        true
    }

    /// A request that changes something: to a container engine by its path, elsewhere by its method.
    fn request(&mut self, own: &str, arguments: &Arguments) -> bool {
        let fields = |value: &Value| match value {
            Value::Table(rows) => rows.iter().map(|(_, value)| value.clone()).collect(),
            value => vec![value.clone()],
        };
        let named = arguments.named.iter().map(|(_, value)| value);
        let texts: Vec<Value> =
            arguments.values.iter().chain(named).flat_map(fields).flat_map(|value| value.each()).collect();
        let mut words: Vec<String> =
            texts.iter().filter_map(Value::known).map(|text| text.to_ascii_lowercase()).collect();
        words.push(own.to_ascii_lowercase());
        let has_data = arguments.option("data").or_else(|| arguments.option("body")).is_some();
        let sends = has_data || words.iter().any(|word| starts::SENDING.has(word));
        let method = if words.iter().any(|word| word == "put") {
            "PUT"
        } else if words.iter().any(|word| word == "delete") {
            "DELETE"
        } else {
            "POST"
        };
        let mut found = false;
        for text in texts {
            let parts = text.parts();
            let whole = shown(&parts);
            let to_engine = whole.split_once("/containers/").is_some_and(|(_, path)| {
                let operation = path.split(['?', '#']).next().and_then(|path| path.rsplit_once('/'));
                operation.is_some_and(|(_, operation)| starts::OPERATIONS.has(operation))
            });
            let is_address = whole.starts_with("http://") || whole.starts_with("https://");
            if !to_engine && !(is_address && sends) {
                continue;
            }
            let parts = if is_address || !has_known(&parts) {
                parts
            } else {
                // A path, or `http+unix://%2Frun%2Fdocker.sock/containers/…`; the host is that of the connection.
                let start = whole.find("/containers/").unwrap_or_default();
                let host =
                    self.connection.as_ref().and_then(Value::known).unwrap_or_else(|| "localhost".to_owned());
                let host = host.trim_start_matches("http://").trim_start_matches("tcp://").to_owned();
                let host = if host.starts_with("unix") { "localhost".to_owned() } else { host };
                let mut left = start;
                let rest = parts.iter().filter_map(|part| {
                    let (Part::Known(text) | Part::Unknown(text)) = part;
                    let skipped = left.min(text.len());
                    left -= skipped;
                    let text = text.get(skipped..).filter(|text| !text.is_empty())?.to_owned();
                    Some(if matches!(part, Part::Known(_)) { Part::Known(text) } else { Part::Unknown(text) })
                });
                std::iter::once(Part::Known(format!("http://{host}"))).chain(rest).collect()
            };
            self.add(Call::Words(vec![known("curl"), known("-X"), known(method), parts]));
            found = true;
        }
        found
    }

    fn unit_or_pod(&mut self, own: &str, arguments: &Arguments) -> bool {
        let Some(given) = arguments.values.iter().find(|value| matches!(value, Value::Text(_))) else {
            return false;
        };
        let (program, verbs) = match (starts::UNIT_CALLS.get(own), starts::CLUSTER_CALLS.get_prefix(own)) {
            (Some(verbs), _) => ("systemctl", verbs),
            (_, Some(verbs)) => ("kubectl", verbs),
            _ => return false,
        };
        let words = std::iter::once(program).chain(verbs.iter()).map(known).chain([given.parts()]);
        self.add(Call::Words(words.collect()));
        true
    }

    /// Gives values to a function that is not known: it may start them, call them, and change them.
    fn give(&mut self, own: &str, arguments: &Arguments) {
        let named = arguments.named.iter().map(|(_, value)| value.clone());
        let all: Vec<Value> = arguments.values.iter().cloned().chain(named).collect();
        let is_harmless = starts::HARMLESS.has(own);
        if starts::SLOTS.has(own) {
            // `Thread(target=f, args=(…))`, `submit(f, …)`.
            let target = arguments.option("target");
            let function = target.clone().or_else(|| all.iter().find(|value| value.is_callable()).cloned());
            if let Some(function @ (Value::Function(_) | Value::Path(_))) = function {
                let values = match arguments.option("args") {
                    Some(list) if target.is_some() => list.items(),
                    _ => Some(
                        arguments
                            .values
                            .iter()
                            .skip_while(|value| **value != function)
                            .skip(1)
                            .cloned()
                            .collect(),
                    ),
                };
                let is_starter =
                    matches!(&function, Value::Path(path) if starts_program(path, self.language));
                if is_starter || matches!(function, Value::Function(_)) {
                    match values {
                        Some(values) if own == "map" => {
                            drop(self.for_each(&function, values.first().unwrap_or(&Value::unknown())))
                        }
                        Some(values) if !values.is_empty() || is_starter => {
                            self.call(&function, Arguments { values, named: vec![] }, usize::MAX);
                        }
                        _ => self.call_unknown(&function),
                    }
                    return;
                }
            }
        }
        for value in all.iter().flat_map(Value::each) {
            match &value {
                Value::Text(parts) if !is_harmless => {
                    let begins =
                        shown(parts).split_whitespace().next().is_some_and(|word| (self.is_program)(word));
                    if begins {
                        self.add_found(suspected(Call::Script(parts.clone()), self.loops > 0));
                    }
                }
                Value::List(items) if !is_harmless => {
                    let begins =
                        items.first().and_then(Value::known).is_some_and(|word| (self.is_program)(&word));
                    if begins && items.len() > 1 {
                        let words = items.iter().map(Value::parts).collect();
                        self.add_found(suspected(Call::Words(words), self.loops > 0));
                    }
                }
                Value::Function(_) | Value::Path(_) => {
                    let repeats = !starts::ONCE.has(own);
                    self.loops += usize::from(repeats);
                    self.call_unknown(&value);
                    self.loops -= usize::from(repeats);
                }
                _ => {}
            }
            if !is_harmless {
                self.forget(&value);
            }
        }
    }
}

fn suspected(call: Call, repeats: bool) -> Found {
    Found { call, repeats, env: vec![], cwd: None, input: None, is_suspected: true, is_guessed: false }
}

/// Whether a function starts a program or a shell.
fn starts_program(path: &str, language: Language) -> bool {
    let (owner, own) = path.rsplit_once('.').unwrap_or(("", path));
    if !starts::CALLS.has(own) {
        return false;
    }
    let object = owner.rsplit('.').next().unwrap_or_default();
    match starts::OWNERS.get(own) {
        Some(owners) => object.is_empty() || owners.has(object),
        // `re.exec(text)` in JavaScript matches a pattern.
        None => {
            !(own == "exec"
                && language == Language::Node
                && object.starts_with("re")
                && !object.starts_with("req"))
        }
    }
}
