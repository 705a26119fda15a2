//! Lists, tables and comprehensions in brackets.

use super::Evaluator;
use super::value::Value;
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;

impl Evaluator<'_> {
    pub(super) fn parenthesised(&mut self) -> Value {
        let open = self.at;
        let close = self.closing(open);
        let follows = |ahead: usize, symbol| {
            self.unit.tokens.get(close + ahead).is_some_and(|token: &Token| token.is(symbol))
        };
        if matches!(self.language, Language::Node | Language::Deno) && follows(1, '=') && follows(2, '>') {
            let parameters = self.parameters(open + 1, close);
            self.at = (close + 3).min(self.end);
            return self.arrow(parameters);
        }
        let value = self.bracketed();
        match value {
            // Brackets around one value.
            Value::List(mut items) => {
                let has_comma =
                    self.within((open + 1, close), |this| this.find(this.at, |token| token.is(','))) < close;
                let is_tuple = has_comma || items.len() != 1 && self.language == Language::Python;
                if is_tuple { Value::List(items) } else { items.pop().unwrap_or(Value::List(vec![])) }
            }
            value => value,
        }
    }

    /// The values in brackets, as a list; those of a comprehension, for each of its rounds.
    pub(super) fn bracketed(&mut self) -> Value {
        let close = self.closing(self.at);
        let start = self.at + 1;
        let value = self.within((start, close), |this| {
            this.brackets = 1;
            let is_python = this.language == Language::Python;
            let at_for = this.find(this.at, |token| is_python && token.name() == Some("for"));
            if at_for < this.end {
                return this.comprehension(at_for);
            }
            let mut values = Vec::new();
            let mut is_whole = true;
            while this.at < this.end && this.spend() {
                this.skip_lines();
                if this.at >= this.end {
                    break;
                }
                let spreads = this.is(0, '*') || this.are("...") || this.language == Language::Perl;
                let value = this.expression();
                match value {
                    Value::List(items) if spreads => values.extend(items),
                    value if spreads && !matches!(value, Value::Text(_)) => {
                        is_whole = this.language == Language::Perl;
                        values.push(value);
                    }
                    value => values.push(value),
                }
                this.skip_lines();
                // `key => value` of PHP and Perl.
                if this.is(0, '=') && this.is(1, '>') {
                    return this.pairs(start);
                }
                if !this.take(',') && this.at < this.end {
                    let next = this.find(this.at, |token| token.is(','));
                    if let Some(last) = values.last_mut() {
                        *last = Value::unknown();
                    }
                    let next = next.max(this.at + 1);
                    this.skip_to(next);
                    this.take(',');
                }
            }
            if is_whole { Value::List(values) } else { Value::unknown() }
        });
        self.at = (close + 1).min(self.end);
        value
    }

    pub(super) fn comprehension(&mut self, at_for: usize) -> Value {
        let element = (self.at, at_for);
        self.at = at_for + 1;
        let at_in = self.find(self.at, |token| token.name() == Some("in"));
        let names = self.names(self.at, at_in);
        self.at = (at_in + 1).min(self.end);
        let list = self.comparison();
        let rest = (self.at, self.end);
        let items = list.items().filter(|items| items.len() <= super::MOST_ROUNDS);
        let is_known = items.is_some() && rest.0 >= rest.1;
        let mut values = Vec::new();
        if items.is_none() {
            self.loops += 1;
        }
        for item in items.clone().unwrap_or_else(|| vec![Value::Unknown(names.join(", "))]) {
            self.bind_all(&names, &item);
            // Conditions, and further loops.
            if rest.0 < rest.1 {
                self.within(rest, |this| {
                    this.brackets = 1;
                    if this.take_name("if") {
                        this.choice();
                    } else {
                        this.skip_to(rest.1);
                    }
                });
            }
            values.push(self.within(element, |this| {
                this.brackets = 1;
                this.expression()
            }));
        }
        if items.is_none() {
            self.loops -= 1;
        }
        self.at = self.end;
        if is_known { Value::List(values) } else { Value::unknown() }
    }

    /// A table in braces.
    pub(super) fn table(&mut self) -> Value {
        let close = self.closing(self.at);
        let start = self.at + 1;
        let value = self.within((start, close), |this| {
            this.brackets = 1;
            this.pairs(start)
        });
        self.at = (close + 1).min(self.end);
        value
    }

    /// Keys and values from a place up to the end of the range.
    pub(super) fn pairs(&mut self, start: usize) -> Value {
        self.at = start;
        let mut rows: Vec<(String, Value)> = Vec::new();
        let mut is_whole = true;
        while self.at < self.end && self.spend() {
            self.skip_lines();
            if self.at >= self.end {
                break;
            }
            if self.are("**") || self.are("...") {
                self.at += if self.is(0, '*') { 2 } else { 3 };
                match self.unary() {
                    Value::Table(own) => rows.extend(own),
                    // The environment, which the program has anyway.
                    Value::Path(path) if path.ends_with("environ") || path.ends_with("env") => {}
                    _ => is_whole = false,
                }
            } else if let Some(name) =
                self.name(0).filter(|_| self.is(1, '(') && self.language == Language::Node)
            {
                // A method.
                self.at += 1;
                let function = self.function(name.clone(), 0);
                rows.push((name, Value::Function(function)));
            } else {
                let name = self.name(0).filter(|_| {
                    self.is(1, ':') || self.is(1, ',') || self.at + 1 >= self.end || self.is(1, '=')
                });
                let is_short = name.is_some() && !self.is(1, ':') && !self.is(1, '=');
                let is_name =
                    name.is_some() && self.language != Language::Python && self.language != Language::Php;
                let key = if is_name && !is_short {
                    self.at += 1;
                    name.map_or_else(Value::unknown, Value::text)
                } else {
                    let value = self.comparison();
                    if is_short && !self.is(0, ':') {
                        rows.push((name.unwrap_or_default(), value));
                        self.skip_lines();
                        self.take(',');
                        continue;
                    }
                    value
                };
                self.skip_lines();
                let has_value = if self.is(0, '=') && self.is(1, '>') {
                    self.at += 2;
                    true
                } else {
                    self.take(':') || (self.language == Language::Perl && self.take(','))
                };
                let value = if has_value { self.expression() } else { Value::unknown() };
                match key.known().filter(|_| has_value) {
                    Some(key) => rows.push((key, value)),
                    None => is_whole = false,
                }
            }
            self.skip_lines();
            if !self.take(',') && self.at < self.end {
                let next = self.find(self.at, |token| token.is(',')).max(self.at + 1);
                self.skip_to(next);
                self.take(',');
                is_whole = false;
            }
        }
        if is_whole { Value::Table(rows) } else { Value::unknown() }
    }

    /// A key in brackets or braces.
    pub(super) fn key(&mut self) -> Value {
        // A word without quotes in the braces of Perl.
        if self.language == Language::Perl
            && self.at + 1 == self.end
            && let Some(name) = self.name(0)
        {
            self.at += 1;
            return Value::text(name);
        }
        let value = self.expression();
        if self.at < self.end {
            self.skip_to(self.end);
            return Value::unknown();
        }
        value
    }
}
