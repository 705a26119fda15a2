//! Texts, variables, functions without names, and other values that an expression consists of.

use std::rc::Rc;

use super::Evaluator;
use super::methods::joined_list;
use super::value::{Parameter, Takes, Unit, Value, merged};
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::names::{evaluation as words, starts};
use crate::languages::text::{Kind, Part, Text, code_in};

impl Evaluator<'_> {
    fn text_here(&mut self, text: &Text) -> Value {
        self.handle(self.at);
        self.at += 1;
        self.text(text)
    }

    /// The value of a text with what it interpolates.
    pub(super) fn text(&mut self, text: &Text) -> Value {
        if !text.is_exact {
            return Value::unknown();
        }
        let mut parts = Vec::new();
        for part in &text.parts {
            match part {
                Part::Known(_) => parts.push(part.clone()),
                Part::Unknown(source) => parts.extend(self.interpolated(source).parts()),
            }
        }
        Value::Text(merged(parts))
    }

    /// The value of an expression in a text, as written with its braces.
    pub(super) fn interpolated(&mut self, source: &str) -> Value {
        let is_sigil = matches!(self.language, Language::Perl | Language::Php);
        let code = match source.strip_prefix("${") {
            // `${h}{name}` is `$h{name}`.
            Some(rest) if is_sigil && !rest.starts_with('$') => match rest.split_once('}') {
                Some((name, subscripts)) if self.is_perl() || subscripts.is_empty() => {
                    format!("${name}{subscripts}")
                }
                _ => source.to_owned(),
            },
            Some(rest) => rest.strip_suffix('}').unwrap_or(source).to_owned(),
            None => {
                let inner = source.strip_prefix("#{").or_else(|| source.strip_prefix('{'));
                let inner = inner.and_then(|inner| inner.strip_suffix('}'));
                // `#$name` of Ruby.
                inner.or_else(|| source.strip_prefix('#')).unwrap_or(source).to_owned()
            }
        };
        let unit = Rc::new(Unit::new(&code, self.language));
        let end = unit.tokens.len().saturating_sub(1);
        let value = self.within_unit(unit, (0, end), |this| {
            this.brackets = 1;
            let value = this.expression();
            // `{x!r:>10}`.
            if this.at < this.end { Value::unknown() } else { value }
        });
        match value {
            Value::Text(_) | Value::Several(_) | Value::Number(_) => value,
            // Perl puts `$"` between the elements, which is a blank unless the code sets it.
            Value::List(_) if self.is_perl() && source.starts_with('@') && !self.mentions_separator() => {
                joined_list(&value, &Value::text(" "))
            }
            _ => Value::Unknown(source.to_owned()),
        }
    }

    fn mentions_separator(&self) -> bool {
        self.main.tokens.iter().chain(&self.unit.tokens).any(|token| token.name() == Some("\""))
    }

    pub(super) fn primary(&mut self) -> Value {
        let Some(token) = self.token(0).cloned() else { return Value::unknown() };
        match token {
            Token::Text(text) => {
                let mut value = self.text_here(&text);
                while self.is_python() {
                    self.skip_breaks();
                    let Some(Token::Text(next)) = self.token(0).cloned() else { break };
                    value = value.joined(&self.text_here(&next));
                }
                value
            }
            Token::Shell(text) => {
                let at = self.at;
                self.at += 1;
                let value = self.text(&text);
                self.start_script(&value, at);
                Value::result(String::new(), vec![])
            }
            Token::Value => {
                let number = self.source().to_owned();
                // A substitution in `$_`.
                if self.is_perl() && number.starts_with(['s', 't', 'y']) {
                    self.forget_name("_");
                }
                // What a pattern runs is not followed.
                self.is_complete &= !self.is_perl() || code_in(&number, Kind::Pattern).is_empty();
                self.at += 1;
                let is_number = number.chars().all(|c| c.is_ascii_digit());
                number.parse().ok().filter(|_| is_number).map(Value::Number).unwrap_or_default()
            }
            Token::Field(field) => {
                self.at += 1;
                Value::Unknown(field)
            }
            Token::Symbol('(') => self.parenthesised(),
            Token::Symbol('[') => self.bracketed(),
            Token::Symbol('{') => self.table(),
            Token::Symbol('$' | '@' | '%')
                if matches!(self.language, Language::Perl | Language::Php | Language::Ruby) =>
            {
                self.variable()
            }
            Token::Symbol('*') => {
                // `*list`.
                self.at += 1;
                if self.take('*') {
                    return self.unary();
                }
                let value = self.unary();
                value.items().map(Value::List).unwrap_or_default()
            }
            Token::Symbol('.') if self.are("...") => {
                self.at += 3;
                self.unary()
            }
            Token::Symbol('-') if self.is(1, '>') && self.is_ruby() => {
                self.at += 2;
                self.block_of_ruby(true).unwrap_or_default()
            }
            // `:symbol`, `&:symbol`.
            Token::Symbol(':') => {
                self.at += 1;
                let name = self.name(0).unwrap_or_default();
                self.at += usize::from(!name.is_empty());
                Value::text(name)
            }
            Token::Name(name) => self.named(&name),
            _ => Value::unknown(),
        }
    }

    /// A variable with a sign: `$x`, `@x`, `$x[0]`, `$x{key}`.
    pub(super) fn variable(&mut self) -> Value {
        let is_list = !self.is(0, '$');
        let from = self.at;
        self.at += 1;
        // `@$x`, `@{$x}`, `$#x`.
        if self.is(0, '$') {
            // A variable that another one names.
            self.is_complete &= !self.is_php();
            return self.variable();
        }
        if self.is(0, '{') {
            return self.in_brackets(|this| match this.name(0).filter(|_| this.at + 1 == this.end) {
                Some(name) => this.lookup(&name).cloned().unwrap_or(Value::Unknown(format!("${name}"))),
                None => this.expression(),
            });
        }
        let Some(name) = self.name(0) else {
            self.at = from + 1;
            return Value::unknown();
        };
        self.at += 1;
        let name = match self.language {
            Language::Ruby if !is_list => format!("${name}"),
            Language::Ruby => format!("self.{name}"),
            Language::Perl
                if is_list
                    || ((self.is(0, '[') || self.is(0, '{'))
                        && self.lookup(&format!("@{name}")).is_some()) =>
            {
                format!("@{name}")
            }
            _ => name,
        };
        // The lines and fields of awk, and the arguments of a script, are known to the caller.
        let shown = if self.is_ruby() { name.clone() } else { format!("${name}") };
        self.lookup(&name).cloned().unwrap_or(Value::Unknown(shown))
    }

    pub(super) fn named(&mut self, name: &str) -> Value {
        match name {
            "lambda" if self.is_python() => {
                self.at += 1;
                let colon = self.find(self.at, |token| token.is(':'));
                let parameters = self.parameters((self.at, colon));
                self.at = (colon + 1).min(self.end);
                return self.arrow(parameters);
            }
            "function" | "sub" | "fn"
                if self.language != Language::Awk && (self.is(1, '(') || self.is(1, '{')) =>
            {
                self.at += 1;
                if name == "fn" {
                    let range = self.bracket();
                    self.at = (range.1 + 3).min(self.end);
                    return self.arrow(self.parameters(range));
                }
                return Value::Function(self.function(String::new(), 0));
            }
            "function" if self.is(2, '(') => {
                self.at += 2;
                return Value::Function(self.function(String::new(), 0));
            }
            "async" => {
                self.at += 1;
                return self.primary();
            }
            "push" | "unshift" if self.is_perl() => {
                return self.push_of_perl(name == "push");
            }
            "shift" if self.is_perl() => {
                self.at += 1;
                let is_call = self.is(0, '(');
                let close = if is_call { self.closing(self.at) + 1 } else { self.at };
                let names = if is_call { self.names(self.at, close) } else { vec![] };
                self.at = close.min(self.end);
                if self.is(0, '@') {
                    let is_own = self.is_name(1, "_");
                    let list = self.variable();
                    if !is_own {
                        self.forget(&list);
                        return Value::unknown();
                    }
                }
                return if names.iter().all(|name| name == "_") { self.shift() } else { Value::unknown() };
            }
            "lambda" | "proc" if self.is_ruby() => {
                self.at += 1;
                return self.block_of_ruby(false).unwrap_or_default();
            }
            _ => {}
        }
        if self.is_script() && self.is(1, '=') && self.is(2, '>') {
            self.at += 3;
            let parameter = Parameter { names: vec![name.to_owned()], takes: Takes::One, default: None };
            return self.arrow(vec![parameter]);
        }
        if words::ENDS.has(name) && !self.is(1, '(') {
            return Value::unknown();
        }
        self.at += 1;
        let known = self.lookup(name).cloned();
        known.unwrap_or_else(|| Value::Path(name.to_owned()))
    }

    /// `push @list, …`.
    pub(super) fn push_of_perl(&mut self, is_last: bool) -> Value {
        self.at += 1;
        let close = if self.is(0, '(') { self.closing(self.at) } else { self.statement_end(self.at) };
        self.take('(');
        let range = (self.at, close);
        let (name, old, more) = self.within_brackets(range, |this| {
            let name = this.is(0, '@').then(|| this.name(1)).flatten();
            let old = this.variable();
            this.take(',');
            let more = this.flat_list();
            (name, old, more)
        });
        self.at = close.min(self.end);
        self.take(')');
        let old = if let Value::Unknown(_) = old { Value::List(vec![]) } else { old };
        let new = if is_last { old.joined(&more) } else { more.joined(&old) };
        self.replace(&old, &new);
        if let Some(name) = name {
            // An array that nothing set is empty.
            self.bind(&format!("@{name}"), new.clone(), false);
        }
        new
    }

    /// The function whose body stands here: an expression or a block.
    pub(super) fn arrow(&mut self, parameters: Vec<Parameter>) -> Value {
        self.skip_lines();
        if self.is(0, '{') && !self.is_python() {
            let body = self.bracket();
            return Value::Function(self.define(String::new(), parameters, body, false));
        }
        let lines = self.brackets == 0;
        let end =
            self.find(self.at, |token| token.is(',') || token.is(';') || (lines && *token == Token::Line));
        let body = (self.at, end);
        self.at = end;
        Value::Function(self.define(String::new(), parameters, body, true))
    }

    /// `{ |x| … }` or `do |x| … end`, or the parameters of `->(x)` before it.
    pub(super) fn block_of_ruby(&mut self, is_arrow: bool) -> Option<Value> {
        let mut parameters = vec![];
        if is_arrow && self.is(0, '(') {
            let range = self.bracket();
            parameters = self.parameters(range);
        }
        let is_brace = self.is(0, '{');
        if !is_brace && !self.is_name(0, "do") {
            return None;
        }
        let open = self.at;
        self.at += 1;
        if self.is(0, '|') {
            let close = self.find(self.at + 1, |token| token.is('|'));
            parameters = self.parameters((self.at + 1, close));
            self.at = (close + 1).min(self.end);
        }
        let end = if is_brace { self.closing(open) } else { self.end_of_ruby(self.at) };
        let body = (self.at, end);
        self.at = (end + 1).min(self.end);
        Some(Value::Function(self.define(String::new(), parameters, body, false)))
    }

    /// Whether a call without brackets may begin here: `system "…"`.
    pub(super) fn begins_arguments(&self, path: &str) -> bool {
        let own = path.rsplit('.').next().unwrap_or_default();
        let before =
            self.at.checked_sub(1).and_then(|at| self.unit.starts.get(at)).copied().unwrap_or_default();
        let here = self.unit.starts.get(self.at).copied().unwrap_or_default();
        let gap = self.unit.code.get(before..here).unwrap_or_default();
        let apart = gap.ends_with([' ', '\n']) || gap.is_empty();
        match self.language {
            Language::Perl | Language::Ruby => {
                apart
                    && match self.token(0) {
                        Some(Token::Text(_) | Token::Shell(_)) => true,
                        Some(Token::Symbol('$' | '@' | '\\' | ':' | '%')) => {
                            self.is_perl() || starts::CALLS.has(own) || self.is(0, ':')
                        }
                        Some(Token::Symbol('[' | '*')) => starts::CALLS.has(own),
                        Some(Token::Name(name)) => !words::ENDS.has(name) && !words::WORD_OPERATORS.has(name),
                        _ => false,
                    }
            }
            Language::Lua => matches!(self.token(0), Some(Token::Text(_))),
            _ => false,
        }
    }
}
