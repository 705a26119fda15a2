//! Members of values: fields, elements, and methods that compute.

use std::rc::Rc;

use super::expressions::range;
use super::value::Value;
use super::{Evaluator, MOST_ROUNDS};
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::text::{Interpolation, Part};

/// The arguments of a call.
#[derive(Default, Clone)]
pub(super) struct Arguments {
    pub values: Vec<Value>,
    pub named: Vec<(String, Value)>,
}

impl Arguments {
    pub fn first(&self) -> Value {
        self.values.first().cloned().unwrap_or_else(Value::unknown)
    }

    /// The value of an argument with a name, or of a field of an object with options.
    pub fn option(&self, name: &str) -> Option<Value> {
        let key = Value::text(name);
        let named = self.named.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        named.or_else(|| {
            self.values
                .iter()
                .rev()
                .find_map(|value| value.at(&key).filter(|_| matches!(value, Value::Table(_))))
        })
    }
}

impl Evaluator<'_> {
    /// What follows a value: members, elements, calls.
    pub(super) fn suffixes(&mut self, mut value: Value) -> Value {
        loop {
            if !self.spend() {
                return value;
            }
            let is_script = matches!(self.language, Language::Node | Language::Deno);
            // A chain of calls continues on the next line.
            if self.brackets == 0 && (is_script || self.language == Language::Ruby) {
                let mut next = self.at;
                while self.unit.tokens.get(next) == Some(&Token::Line) {
                    next += 1;
                }
                let is = |at: usize, symbol| {
                    self.unit.tokens.get(at).is_some_and(|token: &Token| token.is(symbol))
                };
                if next > self.at && next < self.end && is(next, '.') && !is(next + 1, '.') {
                    self.at = next;
                }
            }
            self.skip_breaks_before_member();
            let sigil = matches!(self.language, Language::Perl | Language::Php);
            let dots = match self.token(0) {
                Some(Token::Symbol('.'))
                    if !sigil
                        && !self.is(1, '.')
                        && matches!(self.token(1), Some(Token::Name(_) | Token::Symbol('('))) =>
                {
                    1
                }
                Some(Token::Symbol('?' | '&')) if self.is(1, '.') => 2,
                Some(Token::Symbol('-')) if sigil && self.is(1, '>') => 2,
                Some(Token::Symbol(':')) if self.is(1, ':') => 2,
                _ => 0,
            };
            if dots > 0 && !(dots == 2 && self.is(0, ':') && matches!(self.token(2), Some(Token::Symbol(_))))
            {
                self.at += dots;
                self.skip_lines();
                // `->[0]`, `->{key}`, `->(…)`, `?.(…)`.
                let Some(name) = self.name(0) else {
                    if matches!(self.token(0), Some(Token::Symbol('(' | '[' | '{' | '$'))) {
                        if self.is(0, '$') {
                            self.at += 1;
                        }
                        if self.is(0, '{') {
                            value = self.element(&value);
                        }
                        continue;
                    }
                    return Value::unknown();
                };
                let at = self.at;
                self.at += 1;
                value = self.member(value, &name, at);
                continue;
            }
            let is_call = self.is(0, '(');
            if is_call {
                let at = self.at.saturating_sub(1);
                let arguments = self.arguments();
                let arguments = self.with_block(arguments);
                value = self.call(&value, arguments, at);
                continue;
            }
            if self.is(0, '[') && !(self.language == Language::Ruby && matches!(value, Value::Path(_))) {
                value = self.element(&value);
                continue;
            }
            let is_hash = matches!(value, Value::Table(_) | Value::Unknown(_))
                && self
                    .at
                    .checked_sub(2)
                    .and_then(|at| self.unit.tokens.get(at))
                    .is_some_and(|token| token.is('$') || token.is('>') || token.is('}'));
            if self.is(0, '{') && self.language == Language::Perl && is_hash {
                value = self.element(&value);
                continue;
            }
            if let Value::Path(path) = &value
                && self.begins_arguments(path)
            {
                let at = self.at - 1;
                let arguments = self.bare_arguments();
                value = self.call(&value, arguments, at);
                continue;
            }
            if let Value::Function(_) = &value
                && matches!(self.language, Language::Perl | Language::Ruby)
                && (self.begins_arguments("")
                    || self.language == Language::Ruby
                        && matches!(self.token(0), Some(Token::Line | Token::Symbol(';')) | None))
                && self
                    .at
                    .checked_sub(1)
                    .and_then(|at| self.unit.tokens.get(at))
                    .and_then(Token::name)
                    .is_some()
                && !self.defined_here()
            {
                let at = self.at - 1;
                let arguments = self.bare_arguments();
                value = self.call(&value, arguments, at);
                continue;
            }
            if let Value::Path(_) = &value
                && self.language == Language::Ruby
                && (self.is(0, '{') || self.is_name(0, "do"))
            {
                let at = self.at - 1;
                let arguments = self.with_block(Arguments::default());
                value = self.call(&value, arguments, at);
                continue;
            }
            return value;
        }
    }

    /// Whether a function value was just written, not named.
    fn defined_here(&self) -> bool {
        self.at.checked_sub(1).and_then(|at| self.unit.tokens.get(at)).is_some_and(|token| token.is('}'))
            || self.at.checked_sub(1).and_then(|at| self.unit.tokens.get(at)).and_then(Token::name)
                == Some("end")
    }

    fn skip_breaks_before_member(&mut self) {
        self.skip_breaks();
    }

    /// Arguments without brackets, up to the end of the statement.
    fn bare_arguments(&mut self) -> Arguments {
        let end = self.statement_end(self.at);
        let stop = self.find(self.at, |token| {
            matches!(
                token.name(),
                Some(
                    "if" | "unless" | "for" | "foreach" | "while" | "until" | "do" | "or" | "and" | "rescue"
                )
            ) || matches!(token, Token::Operator("||" | "&&"))
                || token.is('?')
        });
        let range = (self.at, stop.min(end));
        let arguments = self.within(range, |this| {
            this.brackets = 1;
            this.argument_list()
        });
        self.at = range.1;
        self.with_block(arguments)
    }

    /// Arguments in brackets.
    fn arguments(&mut self) -> Arguments {
        let close = self.closing(self.at);
        let range = (self.at + 1, close);
        let arguments = self.within(range, |this| {
            this.brackets = 1;
            this.argument_list()
        });
        self.at = (close + 1).min(self.end);
        arguments
    }

    /// The arguments with the block of Ruby behind them.
    fn with_block(&mut self, mut arguments: Arguments) -> Arguments {
        if self.language == Language::Ruby && (self.is(0, '{') || self.is_name(0, "do")) {
            arguments.values.extend(self.block_of_ruby(false));
        }
        arguments
    }

    fn argument_list(&mut self) -> Arguments {
        let mut arguments = Arguments::default();
        let flattens = self.language == Language::Perl;
        if self.language == Language::Python {
            let at_for = self
                .find(self.at, |token| matches!(token, Token::Symbol(',')) || token.name() == Some("for"));
            if self.unit.tokens.get(at_for).and_then(Token::name) == Some("for") && at_for < self.end {
                let open = self.at - 1;
                let close = self.end;
                self.at = open;
                let before = self.end;
                self.end = (close + 1).min(self.unit.tokens.len());
                let value = self.primary_brackets();
                self.end = before;
                self.at = close;
                arguments.values.push(value);
                return arguments;
            }
        }
        while self.at < self.end && self.spend() {
            self.skip_lines();
            if self.at >= self.end {
                break;
            }
            let is_named = matches!(self.token(0), Some(Token::Name(_)))
                && ((self.is(1, '=')
                    && !self.is(2, '=')
                    && !self.is(2, '>')
                    && self.language == Language::Python)
                    || (self.is(1, ':')
                        && !self.is(2, ':')
                        && matches!(self.language, Language::Ruby | Language::Php)));
            if is_named {
                let name = self.name(0).unwrap_or_default();
                self.at += 2;
                let value = self.expression();
                arguments.named.push((name, value));
            } else {
                let is_table = self.are("**");
                let spreads = self.is(0, '*') || self.are("...");
                let value = self.expression();
                match value {
                    Value::Table(rows) if is_table => arguments.named.extend(rows),
                    Value::List(items) if spreads || flattens => arguments.values.extend(items),
                    // Any number of arguments.
                    _ if is_table => self.is_complete = false,
                    value => arguments.values.push(value),
                }
            }
            self.skip_lines();
            if !self.take(',') && self.at < self.end {
                // `key => value`.
                if self.is(0, '=') && self.is(1, '>') {
                    self.at += 2;
                    let value = self.expression();
                    if let Some(key) = arguments.values.pop() {
                        arguments.named.push((key.known().unwrap_or_default(), value));
                    }
                    self.take(',');
                    continue;
                }
                let next = self.find(self.at, |token| token.is(',')).max(self.at + 1);
                if let Some(last) = arguments.values.last_mut() {
                    *last = Value::unknown();
                }
                self.skip_to(next);
                self.take(',');
            }
        }
        arguments
    }

    /// The element of a value at the index or the key that stands here.
    fn element(&mut self, value: &Value) -> Value {
        let close = self.closing(self.at);
        let open = self.at;
        let has_comma =
            self.within((open + 1, close), |this| this.find(this.at, |token| token.is(','))) < close;
        let has_colon =
            self.within((open + 1, close), |this| this.find(this.at, |token| token.is(':'))) < close;
        let is_symbol = self.language == Language::Ruby;
        if has_comma || (has_colon && !is_symbol) {
            let items = self.within((open + 1, close), |this| {
                this.brackets = 1;
                if has_colon {
                    this.slice(value)
                } else {
                    this.argument_list()
                        .values
                        .into_iter()
                        .fold(Value::List(vec![]), |list, item| list.joined(&Value::List(vec![item])))
                }
            });
            self.at = (close + 1).min(self.end);
            return match (value, items) {
                (Value::Path(path), Value::List(items)) => Value::Result(Rc::new((path.clone(), items))),
                (_, items) if has_colon => items,
                _ => Value::unknown(),
            };
        }
        let key = self.within((open + 1, close), |this| {
            this.brackets = 1;
            this.key()
        });
        self.at = (close + 1).min(self.end);
        if let Some(found) = value.at(&key) {
            return found;
        }
        match (value, key.known()) {
            (Value::Path(path), Some(key)) => match self.lookup(&format!("{path}.{key}")) {
                Some(value) => value.clone(),
                None => Value::Path(format!("{path}.{key}")),
            },
            (Value::Path(path), None) => Value::Unknown(format!("{path}[…]")),
            (Value::Several(each), _) => {
                Value::several(each.iter().map(|one| one.at(&key).unwrap_or_else(Value::unknown)))
            }
            _ => Value::unknown(),
        }
    }

    /// `list[1:]`, `list[:-1]`.
    fn slice(&mut self, value: &Value) -> Value {
        let number = |this: &mut Self| {
            if this.is(0, ':') || this.at >= this.end {
                Some(None)
            } else {
                this.expression().number().map(Some)
            }
        };
        let Value::List(items) = value else {
            self.skip_to(self.end);
            return Value::unknown();
        };
        let (Some(from), true) = (number(self), self.take(':')) else { return Value::unknown() };
        let Some(to) = number(self) else { return Value::unknown() };
        if self.at < self.end {
            self.skip_to(self.end);
            return Value::unknown();
        }
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let place = |at: i64| {
            usize::try_from(if at < 0 { at + length } else { at }.clamp(0, length)).unwrap_or_default()
        };
        let range = place(from.unwrap_or_default())..place(to.unwrap_or(length));
        Value::List(items.get(range).unwrap_or_default().to_vec())
    }

    /// A field of a value, or the call of its method.
    fn member(&mut self, value: Value, name: &str, at: usize) -> Value {
        let is_ruby = self.language == Language::Ruby;
        let has_block = is_ruby && (self.is(0, '{') || self.is_name(0, "do"));
        let is_bare = is_ruby && !matches!(value, Value::Table(_)) && self.begins_arguments(name);
        if self.is(0, '(') || has_block || is_bare {
            let arguments = if self.is(0, '(') {
                let arguments = self.arguments();
                self.with_block(arguments)
            } else if has_block {
                self.with_block(Arguments::default())
            } else {
                self.bare_arguments()
            };
            return self.method(value, name, arguments, at);
        }
        match &value {
            Value::Table(_) if !is_ruby => value.at(&Value::text(name)).unwrap_or_else(Value::unknown),
            Value::List(items) if matches!(name, "length" | "size" | "count") => {
                Value::Number(i64::try_from(items.len()).unwrap_or(i64::MAX))
            }
            Value::Path(path) => {
                let path = format!("{path}.{name}");
                match self.lookup(&path) {
                    Some(value) => value.clone(),
                    None => Value::Path(path),
                }
            }
            // Ruby calls without brackets.
            _ if is_ruby => self.method(value, name, Arguments::default(), at),
            Value::Result(result) => {
                Value::Result(Rc::new((format!("{}.{name}", result.0), result.1.clone())))
            }
            Value::Unknown(source) => Value::Unknown(format!("{source}.{name}")),
            _ => Value::unknown(),
        }
    }

    /// `'%s' % value`.
    pub(super) fn formatted(&mut self, format: &Value, given: &Value) -> Value {
        let Some(format) = format.known() else { return Value::unknown() };
        let mut given = match given {
            Value::List(items) => items.clone(),
            value => vec![value.clone()],
        }
        .into_iter();
        let mut result = Value::text("");
        for part in Interpolation::Formats.parts(&format) {
            let value = match part {
                Part::Known(text) if text.contains('%') => return Value::unknown(),
                Part::Known(text) => Value::text(text),
                Part::Unknown(source) => given.next().unwrap_or(Value::Unknown(source)),
            };
            result = result.joined(&as_text(&value));
        }
        result
    }

    /// `'{} {name}'.format(value, name=value)`.
    fn format(&mut self, format: &str, arguments: &Arguments) -> Value {
        let mut result = Value::text("");
        let mut next = 0;
        for part in Interpolation::Braces.parts(format) {
            let value = match part {
                Part::Known(text) => Value::text(text.replace("}}", "}")),
                Part::Unknown(source) => {
                    let name = source.trim_matches(['{', '}']).to_owned();
                    let at = if name.is_empty() { Some(next) } else { name.parse().ok() };
                    next += usize::from(name.is_empty());
                    let value = match at {
                        Some(at) => arguments.values.get(at).cloned(),
                        None => arguments.option(&name),
                    };
                    value.unwrap_or(Value::Unknown(source))
                }
            };
            result = result.joined(&as_text(&value));
        }
        result
    }

    /// Calls a method.
    pub(super) fn method(&mut self, value: Value, name: &str, arguments: Arguments, at: usize) -> Value {
        if let Value::Several(each) = &value {
            let results: Vec<Value> =
                each.iter().map(|one| self.method(one.clone(), name, arguments.clone(), at)).collect();
            return Value::several(results);
        }
        if let Value::Path(path) = &value {
            let whole = format!("{path}.{name}");
            let known = self.lookup(&whole).cloned();
            if let Some(known) = known.filter(Value::is_callable) {
                return self.call(&known, arguments, at);
            }
            return self.call_path(&whole, arguments, at);
        }
        if let Some(result) = self.computed(&value, name, &arguments) {
            self.handle(at);
            return result;
        }
        match &value {
            Value::Function(_) if matches!(name, "call" | "apply" | "()" | "yield") => {
                let skipped = usize::from(matches!(self.language, Language::Node | Language::Deno));
                let values = arguments.values.into_iter().skip(skipped).collect();
                self.call(&value, Arguments { values, named: arguments.named }, at)
            }
            Value::Table(_) if value.at(&Value::text(name)).is_some() => {
                let function = value.at(&Value::text(name)).unwrap_or_else(Value::unknown);
                self.call(&function, arguments, at)
            }
            _ => self.library(&value, name, arguments, at),
        }
    }

    /// The result of a method that only computes, or that calls a function for each element.
    fn computed(&mut self, value: &Value, name: &str, arguments: &Arguments) -> Option<Value> {
        let first = arguments.first();
        if let Value::Number(number) = value {
            return Some(match name {
                "times" => {
                    let list = range(Some(0), Some(number - 1))?;
                    self.for_each(&first, &list);
                    Value::unknown()
                }
                "toString" | "to_s" => Value::text(number.to_string()),
                _ => return None,
            });
        }
        match value {
            Value::Text(parts) => {
                let known = value.known();
                let is_bare = arguments.values.is_empty();
                Some(match (name, known) {
                    ("join", _) => joined_list(&first, value),
                    ("format", Some(format)) => self.format(&format, arguments),
                    ("split", Some(text)) => split(&text, first.known().as_deref()),
                    (
                        "strip" | "trim" | "rstrip" | "lstrip" | "chomp" | "trimEnd" | "trimStart",
                        Some(text),
                    ) if is_bare => Value::text(match name {
                        "lstrip" | "trimStart" => text.trim_start(),
                        "rstrip" | "trimEnd" | "chomp" => text.trim_end(),
                        _ => text.trim(),
                    }),
                    ("lower" | "toLowerCase" | "downcase", Some(text)) => Value::text(text.to_lowercase()),
                    ("upper" | "toUpperCase" | "upcase", Some(text)) => Value::text(text.to_uppercase()),
                    ("encode" | "decode" | "toString" | "to_s" | "freeze" | "dup" | "to_str", _)
                        if is_bare =>
                    {
                        value.clone()
                    }
                    ("splitlines" | "lines", Some(text)) => {
                        Value::List(text.lines().map(Value::text).collect())
                    }
                    ("concat", _) => {
                        arguments.values.iter().fold(value.clone(), |text, part| text.joined(part))
                    }
                    ("replace", Some(text)) if self.language == Language::Python => {
                        match (first.known(), arguments.values.get(1).and_then(Value::known)) {
                            (Some(from), Some(to)) if arguments.values.len() == 2 && !from.is_empty() => {
                                Value::text(text.replace(&from, &to))
                            }
                            _ => Value::unknown(),
                        }
                    }
                    _ if parts.is_empty() || arguments.values.iter().any(Value::is_callable) => return None,
                    _ => Value::unknown(),
                })
            }
            Value::List(items) => self.computed_of_list(value, items, name, arguments),
            Value::Table(rows) => Some(match name {
                "get" | "fetch" | "dig" => value
                    .at(&first)
                    .unwrap_or_else(|| arguments.values.get(1).cloned().unwrap_or_else(Value::unknown)),
                "items" | "entries" | "each" | "each_pair" | "forEach" | "map" => {
                    let pairs = rows
                        .iter()
                        .map(|(key, value)| Value::List(vec![Value::text(key.clone()), value.clone()]));
                    let pairs = Value::List(pairs.collect());
                    if first.is_callable() {
                        self.for_each(&first, &pairs);
                        return Some(Value::unknown());
                    }
                    pairs
                }
                "values" => Value::List(rows.iter().map(|(_, value)| value.clone()).collect()),
                "keys" => Value::List(rows.iter().map(|(key, _)| Value::text(key.clone())).collect()),
                "copy" => value.clone(),
                _ => {
                    value.at(&Value::text(name)).is_none().then_some(())?;
                    self.forget(value);
                    Value::unknown()
                }
            }),
            _ => None,
        }
    }

    fn computed_of_list(
        &mut self,
        value: &Value,
        items: &[Value],
        name: &str,
        arguments: &Arguments,
    ) -> Option<Value> {
        let first = arguments.first();
        let with = |more: Vec<Value>| Value::List(items.iter().cloned().chain(more).collect());
        Some(match name {
            "append" | "push" | "add" | "<<" => {
                let new = with(arguments.values.clone());
                self.replace(value, &new);
                new
            }
            "extend" => {
                let new = first.items().map_or_else(Value::unknown, with);
                self.replace(value, &new);
                new
            }
            "concat" => {
                let more =
                    arguments.values.iter().map(|one| one.items().unwrap_or_else(|| vec![one.clone()]));
                let new = with(more.flatten().collect());
                if self.language == Language::Ruby {
                    self.replace(value, &new);
                }
                new
            }
            "join" => joined_list(
                value,
                &if arguments.values.is_empty() {
                    Value::text(if self.language == Language::Ruby { "" } else { "," })
                } else {
                    first
                },
            ),
            "copy" | "slice" | "to_a" | "flatten" | "freeze" | "dup" | "toArray"
                if arguments.values.is_empty() =>
            {
                value.clone()
            }
            "drop" => {
                Value::List(items.iter().skip(usize::try_from(first.number()?).ok()?).cloned().collect())
            }
            "first" if arguments.values.is_empty() => items.first().cloned().unwrap_or_else(Value::unknown),
            "last" if arguments.values.is_empty() => items.last().cloned().unwrap_or_else(Value::unknown),
            "index" | "count" | "includes" | "indexOf" | "length" | "size" | "include" | "any" | "every"
            | "some"
                if !first.is_callable() =>
            {
                Value::unknown()
            }
            "each_with_index" | "each" | "forEach" | "map" | "flatMap" | "collect" | "filter"
            | "each_with_object" | "select" | "reject" | "find" | "some" | "every"
                if first.is_callable() || !arguments.values.is_empty() =>
            {
                let function = arguments.values.iter().rev().find(|one| one.is_callable())?.clone();
                Value::List(self.for_each(&function, value))
            }
            "entries" => Value::List(
                items
                    .iter()
                    .enumerate()
                    .map(|(at, one)| Value::List(vec![Value::text(at.to_string()), one.clone()]))
                    .collect(),
            ),
            _ => {
                // It may change the list.
                self.forget(value);
                for argument in arguments.values.iter().filter(|one| matches!(one, Value::Function(_))) {
                    self.loops += 1;
                    self.call_unknown(argument);
                    self.loops -= 1;
                }
                Value::unknown()
            }
        })
    }

    /// Calls a function for each element of a list, with as many elements as it has parameters.
    pub(super) fn for_each(&mut self, function: &Value, list: &Value) -> Vec<Value> {
        let Some(items) = list.items().filter(|items| items.len() <= MOST_ROUNDS) else {
            self.loops += 1;
            self.call_unknown(function);
            self.loops -= 1;
            return vec![];
        };
        let mut results = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            let count = if let Value::Function(function) = function { function.parameters.len() } else { 1 };
            let is_ruby = self.language == Language::Ruby;
            let values = match item {
                Value::List(parts) if is_ruby && count > 1 && parts.len() == count => parts,
                item if count > 1 => vec![item, Value::text(at.to_string())],
                item => vec![item],
            };
            results.push(self.call(function, Arguments { values, named: vec![] }, usize::MAX));
        }
        results
    }
}

/// Numbers and texts as a text; other values are unknown.
fn as_text(value: &Value) -> Value {
    if matches!(value, Value::Text(_) | Value::Several(_) | Value::Number(_)) {
        value.clone()
    } else {
        Value::Text(value.parts())
    }
}

/// The elements of a list with a text between them.
pub(super) fn joined_list(list: &Value, between: &Value) -> Value {
    let Some(items) = list.items() else { return Value::unknown() };
    let mut text = Value::text("");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text = text.joined(between);
        }
        text = text.joined(&as_text(item));
    }
    text
}

/// The parts of a text between separators, or between blanks.
pub(super) fn split(text: &str, separator: Option<&str>) -> Value {
    let parts: Vec<&str> = match separator {
        None | Some("…" | "") => text.split_whitespace().collect(),
        Some(separator) => text.split(separator).collect(),
    };
    Value::List(parts.into_iter().map(Value::text).collect())
}
