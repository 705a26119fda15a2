//! Assignments to names, fields and elements.

use std::rc::Rc;

use super::Evaluator;
use super::value::{Arguments, Call, Range, Takes, Value};
use crate::languages::lexer::Token;
use crate::languages::names::evaluation as words;

impl Evaluator<'_> {
    /// Whether a keyword that declares a variable stands here.
    fn declares(&self) -> bool {
        self.name_at(self.at).is_some_and(|name| words::DECLARING.has(name))
    }

    pub(super) fn assigned(&mut self) -> Value {
        let from = self.at;
        if let Some(value) = self.taken_apart() {
            return value;
        }
        let declares = self.declares();
        let value = self.choice();
        self.skip_breaks();
        let to = self.at;
        // `x: type = value` of Python.
        if self.is_python() && self.brackets == 0 && self.is(0, ':') && to == from + 1 {
            let equals = self.find(to, |token| token.is('=') || *token == Token::Line);
            if equals < self.end && self.is_at(equals, '=') && !self.is(1, '=') {
                self.at = equals;
            }
        }
        if self.is(0, ':') && self.is(1, '=') {
            self.at += 1;
        }
        if self.is(0, '=') && !self.is(1, '=') && !self.is(1, '>') && !self.is(1, '~') {
            self.at += 1;
            self.skip_lines();
            let new = if self.brackets == 0 && self.is_python() {
                let end = self.statement_end(self.at);
                self.list_until(end)
            } else {
                self.expression()
            };
            self.assign((from, to), new.clone(), declares);
            return new;
        }
        // `+=`, `.=`, `<<=`, `||=`.
        let operator = match self.token(0).filter(|_| self.is(1, '=')) {
            Some(Token::Symbol(symbol @ ('+' | '.' | '-' | '*' | '/' | '%' | '|' | '?'))) => Some(*symbol),
            Some(Token::Operator("||" | "&&")) => Some('|'),
            _ => None,
        };
        if let Some(operator) = operator {
            self.at += 2;
            self.skip_lines();
            let other = self.expression();
            let other = if matches!(value, Value::List(_)) && operator == '+' {
                other.items().map(Value::List).unwrap_or_default()
            } else {
                other
            };
            let new = match operator {
                '+' => value.sum(&other),
                '.' => value.joined(&other),
                _ => Value::unknown(),
            };
            // A list grows wherever it is bound.
            if matches!(value, Value::List(_)) {
                self.replace(&value, &new);
            }
            self.assign((from, to), new.clone(), false);
            return new;
        }
        if let Some(Token::Operator(operator @ ("++" | "--"))) = self.token(0) {
            let new = value.plus(if *operator == "++" { 1 } else { -1 });
            self.at += 1;
            self.assign((from, to), new, false);
        }
        value
    }

    /// `const {a: b} = …`, `const [a, ...b] = …`, `my ($a, $b) = …`.
    pub(super) fn taken_apart(&mut self) -> Option<Value> {
        let from = self.at;
        let skipped = usize::from(self.declares());
        let open = from + skipped;
        let token = self.unit.tokens.get(open).filter(|_| open < self.end)?;
        // `a, b = …`.
        if !self.is_perl()
            && skipped == 0
            && matches!(token, Token::Name(_))
            && self.is(1, ',')
            && self.brackets == 0
        {
            let end = self.statement_end(from);
            let equals = self.find(from, |token| token.is('=')).min(end);
            let targets = self.unit.tokens.get(from..equals).unwrap_or_default();
            let is_target =
                |token: &Token| matches!(token, Token::Name(_) | Token::Symbol(',' | '*' | '.' | '(' | ')'));
            if equals >= end || !targets.iter().all(is_target) || self.is_at(equals + 1, '=') {
                return None;
            }
            let has_field = targets.iter().any(|token| !matches!(token, Token::Name(_) | Token::Symbol(',')));
            let names = self.names(from, equals);
            self.at = equals + 1;
            let value = self.list_until(end);
            self.bind_all(&names, &if has_field { Value::unknown() } else { value.clone() });
            return Some(value);
        }
        if !matches!(token, Token::Symbol('{' | '[' | '(')) || (skipped == 0 && !self.is_perl()) {
            return None;
        }
        let close = self.closing(open);
        if !self.is_at(close + 1, '=') || self.is_at(close + 2, '=') || self.is_at(close + 2, '~') {
            return None;
        }
        let is_table = token.is('{');
        let mut targets: Vec<(String, String, Takes)> = Vec::new();
        let mut at = open + 1;
        while at < close {
            let end = self.find(at, |token| token.is(',')).min(close);
            let part = self.unit.tokens.get(at..end).unwrap_or_default();
            let names: Vec<&str> = part.iter().filter_map(Token::name).collect();
            let is_rest = part.iter().any(|token| token.is('.') || token.is('@') || token.is('*'));
            if let Some(key) = names.first() {
                let has_colon = part.iter().any(|token| token.is(':'));
                let name = names.get(usize::from(has_colon)).unwrap_or(key);
                let name = if is_rest && self.is_perl() { format!("@{name}") } else { (*name).to_owned() };
                targets.push(((*key).to_owned(), name, if is_rest { Takes::Rest } else { Takes::One }));
            }
            at = end + 1;
        }
        self.at = close + 2;
        self.skip_lines();
        let value = self.expression();
        for (at, (key, name, takes)) in targets.iter().enumerate() {
            let field = match (&value, takes) {
                (Value::List(items), Takes::Rest) => {
                    Some(Value::List(items.iter().skip(at).cloned().collect()))
                }
                (Value::List(items), _) if !is_table => items.get(at).cloned(),
                (Value::Table(_), Takes::One) => value.at(&Value::text(key.clone())),
                (Value::Path(path), Takes::One) if is_table => Some(Value::Path(format!("{path}.{key}"))),
                _ => None,
            };
            self.bind(name, field.unwrap_or_default(), true);
        }
        Some(value)
    }

    /// Assigns to the name, the field or the element that stands in a range.
    pub(super) fn assign(&mut self, range: Range, value: Value, declares: bool) {
        let unit = Rc::clone(&self.unit);
        let tokens = unit.tokens.get(range.0..range.1).unwrap_or_default();
        let index = tokens.iter().position(|token| matches!(token, Token::Symbol('[' | '{')));
        let head = tokens.get(..index.unwrap_or(tokens.len())).unwrap_or_default();
        let stated = head.iter().filter_map(|token| match token {
            Token::Name(name) if !self.is_before(name) => Some(name.clone()),
            Token::Symbol('@') if self.is_ruby() => Some("self".to_owned()),
            _ => None,
        });
        let mut names: Vec<String> = stated.collect();
        let is_hash = self.is_perl() && head.iter().any(|token| token.is('%'));
        let is_list = is_hash || self.is_perl() && head.iter().any(|token| token.is('@'));
        if self.is_ruby() && names.first().is_some_and(|name| name == "self") {
            names.dedup();
        }
        // `$this->name` of PHP, `$name` of Ruby.
        let is_global = self.is_ruby() && head.first().is_some_and(|token| token.is('$'));
        let path = if is_global { format!("${}", names.join(".")) } else { names.join(".") };
        if path.is_empty() {
            return;
        }
        // `[$a, $b] = …`, `list($a, $b) = …`.
        let is_pattern = tokens.first().is_some_and(|token| matches!(token, Token::Symbol('[' | '(' | '{')));
        if is_pattern || names.first().is_some_and(|name| name == "list") && self.is_php() {
            return self.forget_names(range.0, range.1);
        }
        if let Some(name) = path.strip_prefix("process.env.") {
            return self.set_variable(Some(name.to_owned()), &value);
        }
        if let [owner, name] = names.as_slice()
            && matches!(self.lookup(owner), Some(Value::Path(path)) if words::ENVIRONMENTS.has(path))
        {
            return self.set_variable(Some(name.clone()), &value);
        }
        if index.is_none() && words::ENVIRONMENTS.has(&path) {
            return self.set_variable(None, &value);
        }
        if let Some(index) = index {
            // `environ["PATH"] = …` changes what is started.
            if path.ends_with("environ") || path.ends_with("process.env") || path == "ENV" || path == "_ENV" {
                let key = self.within_brackets((range.0 + index + 1, range.1.saturating_sub(1)), Self::key);
                self.set_variable(key.known(), &value);
                return;
            }
            let keys = if self.is_perl() { vec![format!("@{path}"), path] } else { vec![path] };
            for path in keys {
                if let Some(old) = self.lookup(&path).cloned() {
                    let new = self.with_element(&old, (range.0 + index, range.1), &value).unwrap_or_default();
                    self.replace(&old, &new);
                    self.bind(&path, new, false);
                }
            }
            return;
        }
        // `list.length = 0`, `table.key = …`.
        if let [owner, fields @ ..] = names.as_slice()
            && !fields.is_empty()
            && let Some(old) = self.lookup(owner).cloned().filter(|old| !old.is_callable())
        {
            let new = match (&old, fields) {
                (Value::Table(rows), [field]) => with_field(rows, field, &value),
                _ => Value::unknown(),
            };
            self.replace(&old, &new);
            return;
        }
        // An array or a hash of Perl.
        let path = if is_list { format!("@{path}") } else { path };
        let value = match value {
            Value::List(items) if is_hash && items.len() % 2 == 0 => {
                let pairs =
                    items.chunks(2).filter_map(|pair| Some((pair.first()?.known()?, pair.get(1)?.clone())));
                Value::Table(pairs.collect())
            }
            value @ Value::Text(_) if is_list => Value::List(vec![value]),
            value => value,
        };
        // Objects of one class share these names here.
        let is_field = ["self.", "this."].iter().any(|prefix| path.starts_with(prefix));
        let old = self.lookup(&path).cloned().filter(|_| is_field);
        let value = Value::several(old.into_iter().chain([value]));
        self.bind(&path, value, declares);
    }

    /// Sets a variable of the environment, which the programs get that start later.
    pub(super) fn set_variable(&mut self, name: Option<String>, value: &Value) {
        if let Some(name) = name {
            self.environment.push((name, value.parts()));
        } else {
            self.is_complete = false;
            self.add(Call::Unclear);
        }
    }

    /// Sets the variables of the environment that the arguments of a method state.
    pub(super) fn set_variables(&mut self, arguments: &Arguments) {
        let mut rows = arguments.named.clone();
        for value in &arguments.values {
            let Value::Table(own) = value else { return self.set_variable(None, value) };
            rows.extend(own.iter().cloned());
        }
        for (name, value) in rows {
            self.set_variable(Some(name), &value);
        }
    }

    /// A list or a table with another value at the index that stands in a range.
    pub(super) fn with_element(&mut self, old: &Value, index: Range, value: &Value) -> Option<Value> {
        let close = self.closing(index.0);
        if close + 1 != index.1 {
            return None;
        }
        let key = self.within_brackets((index.0 + 1, close), Self::key);
        match old {
            Value::List(items) => {
                let mut items = items.clone();
                let at = key.index(items.len())?;
                *items.get_mut(at)? = value.clone();
                Some(Value::List(items))
            }
            Value::Table(rows) => Some(with_field(rows, &key.known()?, value)),
            _ => None,
        }
    }
}

/// A table with another value of one field.
fn with_field(rows: &[(String, Value)], field: &str, value: &Value) -> Value {
    let others = rows.iter().filter(|(key, _)| key != field).cloned();
    Value::Table(others.chain([(field.to_owned(), value.clone())]).collect())
}
