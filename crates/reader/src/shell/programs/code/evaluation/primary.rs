//! Texts, variables, functions without names, and other values that an expression consists of.

use std::collections::VecDeque;
use std::rc::Rc;

use super::Evaluator;
use super::value::{Parameter, Takes, Unit, Value, merged};
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::names::{evaluation as words, starts};
use crate::languages::text::{Part, Text, delimited, subscripts};

/// Leaves out the first bytes of parts.
fn consume(parts: &mut VecDeque<Part>, mut len: usize) {
    while let Some(part) = parts.pop_front() {
        let source = part.source();
        if source.len() > len {
            let left = source.get(len..).unwrap_or_default().to_owned();
            parts.push_front(if part.known().is_some() { Part::Known(left) } else { Part::Unknown(left) });
            return;
        }
        len -= source.len();
    }
}

impl Evaluator<'_> {
    fn text_here(&mut self, text: &Text) -> Value {
        self.handle(self.at);
        self.at += 1;
        self.text(text)
    }

    /// The value of a text with what it interpolates.
    pub(super) fn text(&mut self, text: &Text) -> Value {
        if !Value::is_exact(text) {
            return Value::unknown();
        }
        let mut parts = Vec::new();
        let mut rest: VecDeque<Part> = text.parts.iter().cloned().collect();
        // `{$name}` of PHP.
        let mut opens = false;
        while let Some(part) = rest.pop_front() {
            match part {
                Part::Known(known) => {
                    opens = self.is_php()
                        && known.ends_with('{')
                        && matches!(rest.front(), Some(Part::Unknown(source)) if !source.ends_with('}'));
                    let known = if opens { known.strip_suffix('{').unwrap_or(&known) } else { &known };
                    parts.push(Part::Known(known.to_owned()));
                }
                Part::Unknown(source) => {
                    let source = self.with_subscripts(source, &mut rest, opens);
                    opens = false;
                    parts.extend(self.interpolated(&source).parts());
                }
            }
        }
        Value::Text(merged(parts))
    }

    /// A variable in a text with the element or field that the text takes of it: `$h{name}`, `{$h['name']}`, `$x->name`.
    fn with_subscripts(&self, source: String, rest: &mut VecDeque<Part>, is_in_braces: bool) -> String {
        if !matches!(self.language, Language::Perl | Language::Php) {
            return source;
        }
        let after: String = rest.iter().map(Part::source).collect();
        if is_in_braces {
            let whole = format!("{{{after}");
            let Some((inner, _)) = delimited(&whole) else { return source };
            consume(rest, inner.len() + 1);
            return source + inner;
        }
        // `${h}{name}` of Perl is `$h{name}`.
        let name = source.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
        let len = if self.is_php() && name.is_some() { 0 } else { subscripts(&after, self.is_php()) };
        if len == 0 {
            return source;
        }
        consume(rest, len);
        let variable = name.map_or_else(|| source.clone(), |name| format!("${name}"));
        variable + after.get(..len).unwrap_or_default()
    }

    /// The value of an expression in a text, as written with its braces.
    pub(super) fn interpolated(&mut self, source: &str) -> Value {
        let inner = source
            .strip_prefix("#{")
            .or_else(|| source.strip_prefix("${"))
            .or_else(|| source.strip_prefix('{'))
            .and_then(|inner| inner.strip_suffix('}'));
        let is_sigil = matches!(self.language, Language::Perl | Language::Php);
        let code = match inner {
            Some(name) if is_sigil && !name.starts_with('$') => format!("${name}"),
            Some(code) => code.to_owned(),
            None => source.to_owned(),
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
            _ => Value::Unknown(source.to_owned()),
        }
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
