//! Lists, tables and comprehensions in brackets.

use super::Evaluator;
use super::value::{Range, Value};
use crate::catalogue::program::Language;

impl Evaluator<'_> {
    pub(super) fn parenthesised(&mut self) -> Value {
        let open = self.at;
        let close = self.closing(open);
        if self.is_script() && self.is_at(close + 1, '=') && self.is_at(close + 2, '>') {
            let range = self.bracket();
            self.at = (close + 3).min(self.end);
            return self.arrow(self.parameters(range));
        }
        let value = self.bracketed();
        match value {
            // Brackets around one value.
            Value::List(mut items) => {
                let has_comma = self.contains((open + 1, close), ',');
                let is_tuple = has_comma || items.len() != 1 && self.is_python();
                if is_tuple { Value::List(items) } else { items.pop().unwrap_or(Value::List(vec![])) }
            }
            value => value,
        }
    }

    /// The values in brackets, as a list; those of a comprehension, for each of its rounds.
    pub(super) fn bracketed(&mut self) -> Value {
        let start = self.at + 1;
        self.in_brackets(|this| {
            let is_python = this.is_python();
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
                let spreads = this.is(0, '*') || this.are("...") || this.is_perl();
                let value = this.expression();
                match value {
                    Value::List(items) if spreads => values.extend(items),
                    value if spreads && !matches!(value, Value::Text(_)) => {
                        is_whole = this.is_perl();
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
                    if let Some(last) = values.last_mut() {
                        *last = Value::unknown();
                    }
                    this.skip_item();
                }
            }
            if is_whole { Value::List(values) } else { Value::unknown() }
        })
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
        // The names of a comprehension are its own.
        let outer: Vec<Option<Value>> =
            names.iter().map(|name| self.scopes.last()?.get(name).cloned()).collect();
        self.loops += usize::from(items.is_none());
        for item in items.clone().unwrap_or_else(|| vec![Value::Unknown(names.join(", "))]) {
            self.bind_all(&names, &item);
            // Conditions, and further loops.
            if rest.0 < rest.1 {
                self.within_brackets(rest, |this| {
                    if this.take_name("if") {
                        this.choice();
                    } else {
                        this.skip_to(rest.1);
                    }
                });
            }
            values.push(self.within_brackets(element, Self::expression));
        }
        self.loops -= usize::from(items.is_none());
        if let Some(scope) = self.scopes.last_mut() {
            for (name, value) in names.iter().zip(outer) {
                match value {
                    Some(value) => scope.insert(name.clone(), value),
                    None => scope.remove(name),
                };
            }
        }
        self.at = self.end;
        if is_known { Value::List(values) } else { Value::unknown() }
    }

    /// Skips to the next item of a list.
    pub(super) fn skip_item(&mut self) {
        let next = self.find(self.at, |token| token.is(',')).max(self.at + 1);
        self.skip_to(next);
        self.take(',');
    }

    /// Whether a symbol is in a range, outside of inner brackets.
    pub(super) fn contains(&mut self, range: Range, symbol: char) -> bool {
        self.within(range, |this| this.find(this.at, |token| token.is(symbol)) < this.end)
    }

    /// A table in braces.
    pub(super) fn table(&mut self) -> Value {
        self.in_brackets(|this| this.pairs(this.at))
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
                let is_name = name.is_some() && !self.is_python() && !self.is_php();
                let key = if is_name && !is_short {
                    self.at += 1;
                    name.map(Value::text).unwrap_or_default()
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
                    self.take(':') || (self.is_perl() && self.take(','))
                };
                let value = if has_value { self.expression() } else { Value::unknown() };
                match key.known().filter(|_| has_value) {
                    Some(key) => rows.push((key, value)),
                    None => is_whole = false,
                }
            }
            self.skip_lines();
            if !self.take(',') && self.at < self.end {
                self.skip_item();
                is_whole = false;
            }
        }
        if is_whole { Value::Table(rows) } else { Value::unknown() }
    }

    /// A key in brackets or braces.
    pub(super) fn key(&mut self) -> Value {
        // A word without quotes in the braces of Perl.
        if self.is_perl()
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
