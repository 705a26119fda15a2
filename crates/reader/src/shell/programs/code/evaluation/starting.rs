//! Calls that start programs, or may.

use super::value::{Arguments, Call, Value, merged};
use super::{Evaluator, Found};
use crate::catalogue::program::Language;
use crate::languages::names::{awk, node, perl, php, python, ruby, starts};
use crate::languages::text::Part;

/// The maximum number of commands that one call may start, where its arguments have several values.
const MOST_WAYS: usize = 8;

/// A known text.
pub(super) fn known(text: &str) -> Vec<Part> {
    vec![Part::Known(text.to_owned())]
}

/// The text with its unknown pieces as written.
pub(super) fn shown(parts: &[Part]) -> String {
    parts.iter().map(Part::source).collect()
}

/// Whether a piece is known.
pub(super) fn has_known(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Known(text) if !text.trim().is_empty()))
}

impl Evaluator<'_> {
    /// A text that a shell runs.
    pub(super) fn start_script(&mut self, value: &Value, at: usize) {
        self.handle(at);
        for value in value.each() {
            let parts = value.parts();
            self.add(if has_known(&parts) { Call::Script(parts) } else { Call::Unclear });
        }
    }

    /// `open(F, "command|")`, `open(F, "-|", "command", …)` and `open("|command")` of Perl and Ruby.
    pub(super) fn open(&mut self, arguments: &Arguments) {
        let texts: Vec<Option<String>> = arguments.values.iter().map(Value::known).collect();
        let mode = texts.iter().position(|text| matches!(text.as_deref().map(str::trim), Some("-|" | "|-")));
        if let Some(mode) = mode {
            let values = arguments.values.iter().skip(mode + 1).cloned().collect();
            self.start("open", &Arguments::of(values), usize::MAX);
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
    pub(super) fn start_program(&mut self, program: &str, values: &[Value], at: usize) -> Value {
        self.handle(at);
        let words = std::iter::once(known(program)).chain(values.iter().map(Value::parts)).collect();
        self.add(Call::Words(words));
        Value::result(program.to_owned(), vec![])
    }

    /// A call that starts a program or a shell.
    pub(super) fn start(&mut self, own: &str, arguments: &Arguments, at: usize) -> Value {
        self.handle(at);
        let result = Value::result(own, vec![]);
        let (mut values, mut env) = words_and_variables(own, arguments);
        if values.is_empty() {
            if !arguments.named.is_empty() {
                self.add(Call::Unclear);
            }
            return result;
        }
        // The list names a program, and the name that the program is given.
        if let Some(Value::List(items)) = values.first().filter(|_| self.is_ruby() && own != "popen") {
            let program = items.first().cloned();
            values.splice(..1, program);
        }
        if self.has_other_program(own, arguments) {
            self.add(Call::Unclear);
        }
        match arguments.option("env") {
            Some(Value::Table(rows)) => env.extend(variables(rows)),
            Some(Value::Path(path))
                if path.ends_with("environ") || path.ends_with("env") || path == "None" => {}
            Some(_) => self.is_complete = false,
            None => {}
        }
        let cwd = arguments.option("cwd").or_else(|| arguments.option("chdir")).map(|value| value.parts());
        let input = arguments.option("input").map(|value| value.parts());
        let is_python = self.is_python();
        if arguments.named.iter().any(|(name, _)| is_python && !python::STARTING_OPTIONS.has(name)) {
            self.is_complete = false;
        }
        let is_shell = arguments.option("shell").is_some_and(|value| value.truth() != Some(false));
        let script_first = matches!(self.language, Language::Php | Language::Lua | Language::Awk)
            && own != "pcntl_exec"
            || own == "popen" && is_python;
        if script_first {
            values.truncate(1);
        }
        let Some(ways) = ways(&values) else {
            self.add(Call::Unclear);
            return result;
        };
        for (mut words, is_list) in ways {
            // `execlp("docker", "docker", …)` names the program twice.
            if matches!(words.as_slice(), [first, second, ..] if first == second)
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
                _ if is_list && is_shell && is_python => Call::Script(words.remove(0)),
                _ if is_shell => Call::Script(merged(words.join(&Part::Known(" ".to_owned())))),
                _ => Call::Words(words),
            };
            if is_named || matches!(call, Call::Words(_)) {
                let (env, cwd, input) = (env.clone(), cwd.clone(), input.clone());
                self.add_found(Found { env, cwd, input, ..Found::of(call, self.loops > 0) });
            }
        }
        for function in values.iter().filter(|value| matches!(value, Value::Function(_))) {
            self.call_unknown(function);
        }
        result
    }

    /// Whether arguments name another program than the first one: `executable=…` of Python, `shell: …` of JavaScript.
    fn has_other_program(&self, own: &str, arguments: &Arguments) -> bool {
        let is_shell = |value: &Value| match value {
            Value::Path(path) => {
                matches!(path.as_str(), "None" | "True" | "False" | "true" | "false" | "sys.executable")
            }
            value => {
                value.known().is_some_and(|path| awk::SHELLS.has(path.rsplit('/').next().unwrap_or_default()))
            }
        };
        let named = match self.language {
            Language::Python if starts::OPTIONED.has(own) => {
                arguments.named("executable").or_else(|| arguments.values.get(2).cloned())
            }
            Language::Node | Language::Deno => arguments.option("shell"),
            _ => None,
        };
        named.is_some_and(|value| !is_shell(&value))
    }

    /// Calls the function that `Thread(target=f, args=(…))` or `submit(f, …)` is given; false where it is not known.
    fn call_slot(&mut self, own: &str, arguments: &Arguments) -> bool {
        let target = arguments.option("target");
        let function = target.clone().or_else(|| arguments.all().find(|value| value.is_callable()).cloned());
        let Some(function) = function else { return false };
        let is_starter = matches!(&function, Value::Path(path) if starts_program(path, self.language));
        if !is_starter && !matches!(function, Value::Function(_)) {
            return false;
        }
        let values = if let Some(list) = arguments.option("args").filter(|_| target.is_some()) {
            list.items()
        } else {
            let after = arguments.values.iter().skip_while(|value| **value != function);
            Some(after.skip(1).cloned().collect())
        };
        match values {
            Some(values) if own == "map" => {
                self.for_each(&function, values.first().unwrap_or(&Value::unknown()));
            }
            Some(values) if !values.is_empty() || is_starter => {
                self.call(&function, Arguments::of(values), usize::MAX);
            }
            _ => self.call_unknown(&function),
        }
        true
    }

    /// Gives values to a function that is not known: it may start them, call them, and change them.
    pub(super) fn give(&mut self, own: &str, arguments: &Arguments) {
        if starts::SLOTS.has(own) && self.call_slot(own, arguments) {
            return;
        }
        let is_harmless = starts::HARMLESS.has(own) || computes(own, self.language);
        for value in arguments.all().flat_map(Value::each) {
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
                    let repeats = usize::from(!starts::ONCE.has(own));
                    self.loops += repeats;
                    self.call_unknown(&value);
                    self.loops -= repeats;
                }
                _ => {}
            }
            if !starts::PRINTING.has(own) {
                self.forget(&value);
            }
        }
    }
}

/// Variables of a program, from a table.
fn variables(rows: Vec<(String, Value)>) -> impl Iterator<Item = (String, Vec<Part>)> {
    rows.into_iter().map(|(name, value)| (name, value.parts()))
}

/// The arguments that are words of the command, and the variables that stand before them.
fn words_and_variables(own: &str, arguments: &Arguments) -> (Vec<Value>, Vec<(String, Vec<Part>)>) {
    let mut values = arguments.values.clone();
    let named = ["args", "cmd", "command", "program"].into_iter().find_map(|name| arguments.named(name));
    values.splice(0..0, named);
    let first = values.first();
    // How the program is started: `os.spawnlp(os.P_WAIT, …)`.
    let is_mode = matches!(first, Some(Value::Path(path)) if own.starts_with("spawn") && path.contains("P_"));
    let mut env = vec![];
    if values.len() > 1 && (is_mode || matches!(first, Some(Value::Table(_)))) {
        if let Value::Table(rows) = values.remove(0) {
            env.extend(variables(rows));
        }
    } else if let Some(command) = first.and_then(|options| options.field(&["cmd", "args", "file"])) {
        values.insert(0, command);
    }
    // `new Deno.Command("docker", {args: […]})`.
    if matches!(values.first(), Some(Value::Text(_)))
        && let Some(list @ Value::List(_)) = values.get(1).and_then(|options| options.field(&["args"]))
    {
        values.insert(1, list);
    }
    (values, env)
}

/// The words of a command, for each value that its arguments may have, and whether they were a list; `None` for too many.
fn ways(values: &[Value]) -> Option<Vec<(Vec<Vec<Part>>, bool)>> {
    let mut ways: Vec<(Vec<Vec<Part>>, bool)> = vec![(vec![], false)];
    for value in values {
        // The list of one way ends the arguments of all.
        let ends = ways.iter().any(|(words, is_list)| *is_list && !words.is_empty());
        if ends || matches!(value, Value::Table(_) | Value::Function(_)) {
            break;
        }
        let mut next = Vec::new();
        for one in value.each() {
            let (more, is_list) = match &one {
                Value::List(items) => (items.iter().map(Value::parts).collect(), true),
                one => (vec![one.parts()], false),
            };
            next.extend(ways.iter().map(|(words, _)| ([words.as_slice(), &more].concat(), is_list)));
        }
        if next.len() > MOST_WAYS {
            return None;
        }
        ways = next;
    }
    Some(ways)
}

/// Whether a function or a method only computes and prints.
fn computes(own: &str, language: Language) -> bool {
    match language {
        Language::Python => python::CALLS.has(own) || python::METHODS.has(own),
        Language::Node | Language::Deno => node::CALLS.has(own) || node::METHODS.has(own),
        Language::Perl => perl::WORDS.has(own),
        Language::Ruby => ruby::WORDS.has(own),
        Language::Php => php::WORDS.has(own),
        _ => false,
    }
}

/// A call of a text that is only given to a function.
pub(super) fn suspected(call: Call, repeats: bool) -> Found {
    Found { is_suspected: true, ..Found::of(call, repeats) }
}

/// Whether a function starts a program or a shell.
pub(crate) fn starts_program(path: &str, language: Language) -> bool {
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
