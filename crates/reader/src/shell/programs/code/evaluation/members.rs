//! What follows a value: members, elements and calls.

use std::rc::Rc;

use super::Evaluator;
use super::methods::Arguments;
use super::value::Value;
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;

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
            let before = self.at.checked_sub(1).and_then(|at| self.unit.tokens.get(at));
            let is_ruby = self.language == Language::Ruby;
            let is_bare = match &value {
                Value::Path(path) => {
                    self.begins_arguments(path) || is_ruby && (self.is(0, '{') || self.is_name(0, "do"))
                }
                // A function that was named, and not just written.
                Value::Function(_) if before.and_then(Token::name).is_some_and(|name| name != "end") => {
                    let ends =
                        is_ruby && matches!(self.token(0), Some(Token::Line | Token::Symbol(';')) | None);
                    (is_ruby || self.language == Language::Perl) && (ends || self.begins_arguments(""))
                }
                _ => false,
            };
            if is_bare {
                let at = self.at - 1;
                let has_block = is_ruby && (self.is(0, '{') || self.is_name(0, "do"));
                let arguments =
                    if has_block { self.with_block(Arguments::default()) } else { self.bare_arguments() };
                value = self.call(&value, arguments, at);
                continue;
            }
            return value;
        }
    }

    /// Arguments without brackets, up to the end of the statement.
    pub(super) fn bare_arguments(&mut self) -> Arguments {
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
    pub(super) fn arguments(&mut self) -> Arguments {
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
    pub(super) fn with_block(&mut self, mut arguments: Arguments) -> Arguments {
        if self.language == Language::Ruby && (self.is(0, '{') || self.is_name(0, "do")) {
            arguments.values.extend(self.block_of_ruby(false));
        }
        arguments
    }

    pub(super) fn argument_list(&mut self) -> Arguments {
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
                let value = self.bracketed();
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
    pub(super) fn element(&mut self, value: &Value) -> Value {
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
            // One of what a library lists.
            (Value::Result(_), Some(_)) => value.clone(),
            (Value::Several(each), _) => {
                Value::several(each.iter().map(|one| one.at(&key).unwrap_or_else(Value::unknown)))
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
    pub(super) fn member(&mut self, value: Value, name: &str, at: usize) -> Value {
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
}
