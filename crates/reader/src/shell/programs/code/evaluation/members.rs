//! What follows a value: members, elements and calls.

use super::Evaluator;
use super::value::{Arguments, Value};
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::names::evaluation as words;

impl Evaluator<'_> {
    /// What follows a value: members, elements, calls.
    pub(super) fn suffixes(&mut self, mut value: Value) -> Value {
        loop {
            if !self.spend() {
                return value;
            }
            // A chain of calls continues on the next line.
            if self.brackets == 0 && (self.is_script() || self.is_ruby()) {
                let next = self.after_lines(self.at);
                if next < self.end && self.is_at(next, '.') && !self.is_at(next + 1, '.') {
                    self.at = next;
                }
            }
            self.skip_breaks();
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
                        self.take('$');
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
            if self.is(0, '(') {
                let at = self.at.saturating_sub(1);
                let arguments = self.arguments();
                value = self.call(&value, arguments, at);
                continue;
            }
            if self.is(0, '[') && !(self.is_ruby() && matches!(&value, Value::Path(path) if path != "ENV")) {
                value = self.element(&value);
                continue;
            }
            let is_hash = matches!(value, Value::Table(_) | Value::Unknown(_))
                && self
                    .unit
                    .tokens
                    .get(self.at.wrapping_sub(2))
                    .is_some_and(|token| token.is('$') || token.is('>') || token.is('}'));
            if self.is(0, '{') && self.is_perl() && is_hash {
                value = self.element(&value);
                continue;
            }
            let is_called = match &value {
                Value::Path(path) => self.begins_arguments(path) || self.begins_block(),
                // A function that was named, and not just written.
                Value::Function(_)
                    if self.name_at(self.at.wrapping_sub(1)).is_some_and(|name| name != "end") =>
                {
                    let ends = matches!(self.token(0), Some(Token::Line | Token::Symbol(';')) | None);
                    self.is_ruby() && ends || (self.is_ruby() || self.is_perl()) && self.begins_arguments("")
                }
                _ => false,
            };
            if !is_called {
                return value;
            }
            let at = self.at - 1;
            let arguments = self.arguments();
            value = self.call(&value, arguments, at);
        }
    }

    /// Whether a block of Ruby begins here.
    fn begins_block(&self) -> bool {
        self.is_ruby() && (self.is(0, '{') || self.is_name(0, "do"))
    }

    /// The arguments that stand here, in brackets or without them, with the block of Ruby behind them.
    fn arguments(&mut self) -> Arguments {
        let mut arguments = if self.is(0, '(') {
            self.in_brackets(Self::argument_list)
        } else if self.begins_block() {
            Arguments::default()
        } else {
            self.bare_arguments()
        };
        if self.begins_block() {
            arguments.values.extend(self.block_of_ruby(false));
        }
        arguments
    }

    /// Arguments without brackets, up to the end of the statement.
    fn bare_arguments(&mut self) -> Arguments {
        let end = self.statement_end(self.at);
        let stop = self.find(self.at, |token| {
            token.name().is_some_and(|name| words::MODIFIERS.has(name))
                || matches!(token, Token::Operator("||" | "&&") | Token::Symbol('?'))
        });
        let range = (self.at, stop.min(end));
        let arguments = self.within_brackets(range, Self::argument_list);
        self.at = range.1;
        arguments
    }

    pub(super) fn argument_list(&mut self) -> Arguments {
        let mut arguments = Arguments::default();
        let flattens = self.is_perl();
        if self.is_python() {
            let at_for = self
                .find(self.at, |token| matches!(token, Token::Symbol(',')) || token.name() == Some("for"));
            if self.name_at(at_for) == Some("for") && at_for < self.end {
                // The brackets of the call are those of the comprehension.
                let range = (self.at - 1, (self.end + 1).min(self.unit.tokens.len()));
                arguments.values.push(self.within(range, Self::bracketed));
                self.at = self.end;
                return arguments;
            }
        }
        while self.at < self.end && self.spend() {
            self.skip_lines();
            if self.at >= self.end {
                break;
            }
            let names = match self.language {
                Language::Python => self.is(1, '=') && !self.is(2, '=') && !self.is(2, '>'),
                Language::Ruby | Language::Php => self.is(1, ':') && !self.is(2, ':'),
                _ => false,
            };
            if let Some(name) = self.name(0).filter(|_| names) {
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
                if let Some(last) = arguments.values.last_mut() {
                    *last = Value::unknown();
                }
                self.skip_item();
            }
        }
        arguments
    }

    /// The element of a value at the index or the key that stands here.
    pub(super) fn element(&mut self, value: &Value) -> Value {
        let range = self.bracket();
        let has_colon = self.contains(range, ':');
        if self.contains(range, ',') || (has_colon && !self.is_ruby()) {
            let items = self.within_brackets(range, |this| {
                if has_colon { this.slice(value) } else { Value::List(this.argument_list().values) }
            });
            return match (value, items) {
                (Value::Path(path), Value::List(items)) => Value::result(path.clone(), items),
                (_, items) if has_colon => items,
                _ => Value::unknown(),
            };
        }
        let key = self.within_brackets(range, Self::key);
        if let Some(found) = value.at(&key) {
            return found;
        }
        match (value, key.known()) {
            (Value::Path(path), Some(key)) => self.field(path, &key),
            (Value::Path(path), None) => Value::Unknown(format!("{path}[…]")),
            // One of what a library lists.
            (Value::Result(_), Some(_)) => value.clone(),
            (Value::Several(each), _) => {
                Value::several(each.iter().map(|one| one.at(&key).unwrap_or_default()))
            }
            _ => Value::unknown(),
        }
    }

    /// `list[1:]`, `list[:-1]`.
    pub(super) fn slice(&mut self, value: &Value) -> Value {
        let number = |this: &mut Self| {
            if this.is(0, ':') || this.at >= this.end {
                Some(None)
            } else {
                this.expression().number().map(Some)
            }
        };
        let (from, is_range, to) = (number(self), self.take(':'), number(self));
        if self.at < self.end {
            self.skip_to(self.end);
            return Value::unknown();
        }
        let Value::List(items) = value else {
            // Some of what a library lists.
            let is_listed = matches!(value, Value::Result(_) | Value::Unknown(_));
            self.is_complete &= is_listed;
            return if is_listed { value.clone() } else { Value::unknown() };
        };
        let (Some(from), true, Some(to)) = (from, is_range, to) else { return Value::unknown() };
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let place = |at: i64| {
            usize::try_from(if at < 0 { at + length } else { at }.clamp(0, length)).unwrap_or_default()
        };
        let range = place(from.unwrap_or_default())..place(to.unwrap_or(length));
        Value::List(items.get(range).unwrap_or_default().to_vec())
    }

    /// The field of an object or a module that the code does not define.
    fn field(&self, owner: &str, name: &str) -> Value {
        let path = format!("{owner}.{name}");
        self.lookup(&path).cloned().unwrap_or(Value::Path(path))
    }

    /// A field of a value, or the call of its method.
    pub(super) fn member(&mut self, value: Value, name: &str, at: usize) -> Value {
        let is_ruby = self.is_ruby();
        let is_bare = is_ruby && !matches!(value, Value::Table(_)) && self.begins_arguments(name);
        if self.is(0, '(') || self.begins_block() || is_bare {
            let arguments = self.arguments();
            return self.method(value, name, arguments, at);
        }
        match &value {
            Value::Table(_) if !is_ruby => value.at(&Value::text(name)).unwrap_or_default(),
            Value::List(items) if matches!(name, "length" | "size" | "count") => {
                Value::Number(i64::try_from(items.len()).unwrap_or(i64::MAX))
            }
            Value::Path(path) => self.field(path, name),
            // Ruby calls without brackets.
            _ if is_ruby => self.method(value, name, Arguments::default(), at),
            Value::Result(result) => Value::result(format!("{}.{name}", result.0), result.1.clone()),
            Value::Unknown(source) => Value::Unknown(format!("{source}.{name}")),
            _ => Value::unknown(),
        }
    }
}
