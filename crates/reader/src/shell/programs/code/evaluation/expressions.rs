//! Expressions, which are evaluated while they are read.

use super::methods::formatted;
use super::value::Value;
use super::{DEEPEST, Evaluator};
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::names::evaluation as words;

impl Evaluator<'_> {
    /// Expressions with commas between them, up to the end: a list where there are several.
    pub(super) fn list_until(&mut self, end: usize) -> Value {
        let mut values = vec![self.expression()];
        while self.at < end && self.is(0, ',') {
            self.at += 1;
            self.skip_breaks();
            if self.at >= end {
                break;
            }
            values.push(self.expression());
            if !self.spend() {
                break;
            }
        }
        // `a, b = 1, 2` and `a, b = f()`.
        if self.is(0, '=') && !self.is(1, '=') {
            self.skip_to(end);
        }
        if values.len() == 1 { values.pop().unwrap_or_default() } else { Value::List(values) }
    }

    /// Expressions with commas between them, as a list whose lists are flattened.
    pub(super) fn flat_list(&mut self) -> Value {
        let mut values = Vec::new();
        while self.at < self.end && self.spend() {
            let before = self.at;
            self.skip_breaks();
            match self.expression() {
                Value::List(items) => values.extend(items),
                value => values.push(value),
            }
            self.skip_breaks();
            if !self.take(',') && self.at == before {
                break;
            }
        }
        Value::List(values)
    }

    /// An expression, with what it assigns.
    pub(super) fn expression(&mut self) -> Value {
        self.depth += 1;
        if self.depth > DEEPEST * 4 || !self.spend() {
            self.depth -= 1;
            self.is_complete = false;
            return Value::unknown();
        }
        self.skip_breaks();
        let value = self.assigned();
        self.depth -= 1;
        value
    }

    /// `a if c else b`, `c ? a : b`, `a or b`, `a && b`.
    pub(super) fn choice(&mut self) -> Value {
        let mut value = self.comparison();
        loop {
            self.skip_breaks();
            // `command | getline line`.
            if self.language == Language::Awk && self.is(0, '|') {
                let ahead = if self.is(1, '&') { 2 } else { 1 };
                if self.is_name(ahead, "getline") {
                    self.start_script(&value, self.at.saturating_sub(1));
                    self.at += ahead + 1;
                    if let Some(name) = self.name(0).filter(|name| !words::ENDS.has(name)) {
                        self.bind(&name, Value::Unknown(name.clone()), false);
                        self.at += 1;
                    }
                    value = Value::unknown();
                    continue;
                }
                return value;
            }
            if self.is_python() && self.is_name(0, "if") {
                let is_filter = self.brackets > 0
                    && self.find(self.at, |token| token.name() == Some("else"))
                        >= self.find(self.at, |token| token.is(','));
                if is_filter {
                    return value;
                }
                self.at += 1;
                let truth = self.comparison().truth();
                while matches!(self.name(0).as_deref(), Some("and" | "or")) {
                    self.at += 1;
                    self.comparison();
                }
                if self.take_name("else") {
                    let other = self.choice();
                    value = Value::chosen(truth, value, other);
                }
                continue;
            }
            let (is_or, length) = match self.token(0) {
                Some(Token::Operator("||")) => (true, 1),
                Some(Token::Operator("&&")) => (false, 1),
                Some(Token::Name(word)) if word == "or" => (true, 1),
                Some(Token::Name(word)) if word == "and" => (false, 1),
                Some(Token::Symbol('?')) if self.is(1, '?') => (true, 2),
                Some(Token::Symbol('?')) if !self.is(1, '.') && !self.is(1, '-') => {
                    self.at += 1;
                    self.brackets += 1;
                    let truth = value.truth();
                    let one = self.expression();
                    self.skip_breaks();
                    self.take(':');
                    let other = self.expression();
                    self.brackets -= 1;
                    value = Value::chosen(truth, one, other);
                    continue;
                }
                _ => return value,
            };
            self.at += length;
            self.skip_lines();
            // What stands there may not run.
            let before = self.scopes.clone();
            let other = self.comparison();
            self.join(before);
            value = Value::chosen(value.truth().map(|truth| truth == is_or), value, other);
        }
    }

    pub(super) fn comparison(&mut self) -> Value {
        let value = self.addition();
        self.skip_breaks();
        let (operator, length) = match self.token(0) {
            Some(Token::Symbol('=')) if self.is(1, '=') => ("==", if self.is(2, '=') { 3 } else { 2 }),
            Some(Token::Symbol('!')) if self.is(1, '=') => ("!=", if self.is(2, '=') { 3 } else { 2 }),
            Some(Token::Symbol('=' | '!')) if self.is(1, '~') => ("?", 2),
            Some(Token::Symbol('>')) if self.is(1, '=') => (">=", 2),
            Some(Token::Symbol('<') | Token::Operator("<")) if self.is(1, '=') => ("<=", 2),
            Some(Token::Symbol('<')) if !self.is(1, '<') => ("<", 1),
            Some(Token::Operator("<")) => ("<", 1),
            Some(Token::Symbol('>')) => (">", 1),
            Some(Token::Symbol('~')) => ("?", 1),
            Some(Token::Name(word)) if word == "in" && self.brackets == 0 && self.is_python() => ("?", 1),
            Some(Token::Name(word)) if matches!(word.as_str(), "eq" | "instanceof" | "is") => ("?", 1),
            Some(Token::Name(word)) if word == "not" && self.is_name(1, "in") => ("?", 2),
            _ => return value,
        };
        // `print x > file` of awk, and a pattern that changes the text before it.
        if operator == "?" && self.is_perl() {
            self.forget_before();
        }
        self.at += length;
        self.take_name("not");
        let other = self.addition();
        let ordering = match (value.number(), other.number(), value.known(), other.known()) {
            (Some(one), Some(two), _, _) => Some(one.cmp(&two)),
            (_, _, Some(one), Some(two)) if matches!(operator, "==" | "!=") => Some(one.cmp(&two)),
            _ => None,
        };
        let holds = ordering.and_then(|ordering| match operator {
            "==" => Some(ordering.is_eq()),
            "!=" => Some(ordering.is_ne()),
            "<" => Some(ordering.is_lt()),
            ">" => Some(ordering.is_gt()),
            "<=" => Some(ordering.is_le()),
            ">=" => Some(ordering.is_ge()),
            _ => None,
        });
        Value::of_truth(holds)
    }

    /// Forgets the variable before a substitution: `$x =~ s/a/b/`.
    pub(super) fn forget_before(&mut self) {
        let begins = |token: &Token| matches!(token, Token::Symbol(';' | '{' | '(') | Token::Line);
        let tokens = self.unit.tokens.get(..self.at).unwrap_or_default();
        let from = tokens.iter().rposition(begins).map_or(0, |at| at + 1);
        // An element: `$h{x} =~ s/a/b/`.
        let from = if tokens.last().is_some_and(|token| token.is('}') || token.is(']')) { 0 } else { from };
        self.forget_names(from, self.at);
    }

    pub(super) fn addition(&mut self) -> Value {
        use Language::{Awk, Lua, Perl, Php, Ruby};
        let mut value = self.product();
        loop {
            self.skip_breaks();
            let joins = matches!(self.language, Perl | Php);
            match self.token(0) {
                Some(Token::Symbol('+')) if !self.is(1, '=') => {
                    self.at += 1;
                    self.skip_lines();
                    value = value.sum(&self.product());
                }
                Some(Token::Symbol('-')) if !self.is(1, '=') && !self.is(1, '>') => {
                    self.at += 1;
                    let other = self.product().number();
                    value = other.map(|other| value.plus(other.saturating_neg())).unwrap_or_default();
                }
                Some(Token::Symbol('.')) if joins && !self.is(1, '=') && !self.is(1, '.') => {
                    self.at += 1;
                    value = value.joined(&self.product());
                }
                Some(Token::Symbol('.')) if self.language == Lua && self.is(1, '.') => {
                    self.at += 2;
                    value = value.joined(&self.product());
                }
                // `1..3`.
                Some(Token::Symbol('.')) if self.is(1, '.') && !self.is(2, '.') => {
                    self.at += 2;
                    let other = self.product();
                    value = Value::range(value.number(), other.number()).unwrap_or_default();
                }
                Some(Token::Symbol('<'))
                    if self.is(1, '<') && self.language == Ruby && !self.is(2, '~') && !self.is(2, '-') =>
                {
                    let from = self.at;
                    self.at += 2;
                    let other = self.product();
                    let new = match &value {
                        Value::List(items) => Value::List(items.iter().cloned().chain([other]).collect()),
                        value => value.joined(&other),
                    };
                    let name = self.name_at(from.wrapping_sub(1)).map(str::to_owned);
                    if let Some(name) = name.filter(|name| self.lookup(name).is_some()) {
                        self.replace(&value, &new);
                        self.bind(&name, new.clone(), false);
                    }
                    value = new;
                }
                Some(Token::Text(_) | Token::Field(_) | Token::Value) if self.language == Awk => {
                    value = value.joined(&self.product());
                }
                Some(Token::Name(name)) if self.language == Awk && !words::ENDS.has(name) => {
                    value = value.joined(&self.product());
                }
                _ => return value,
            }
            if !self.spend() {
                return value;
            }
        }
    }

    pub(super) fn product(&mut self) -> Value {
        let mut value = self.unary();
        loop {
            self.skip_breaks();
            match self.token(0) {
                Some(Token::Symbol('%'))
                    if !self.is(1, '=') && matches!(self.language, Language::Python | Language::Ruby) =>
                {
                    self.at += 1;
                    let other = self.unary();
                    value = formatted(&value, &other);
                }
                Some(Token::Symbol('*' | '/' | '%')) if !self.is(1, '=') => {
                    self.at += 1;
                    self.take('*');
                    self.take('/');
                    self.unary();
                    value = Value::unknown();
                }
                _ => return value,
            }
            if !self.spend() {
                return value;
            }
        }
    }

    pub(super) fn unary(&mut self) -> Value {
        self.skip_breaks();
        match self.token(0) {
            Some(Token::Symbol('!')) if !self.is(1, '=') => {
                self.at += 1;
                let value = self.unary();
                Value::of_truth(value.truth().map(|truth| !truth))
            }
            Some(Token::Name(word)) if word == "not" => {
                self.at += 1;
                let value = self.comparison();
                Value::of_truth(value.truth().map(|truth| !truth))
            }
            Some(Token::Symbol('-')) => {
                self.at += 1;
                let number = self.unary().number();
                number.map(|number| Value::Number(number.saturating_neg())).unwrap_or_default()
            }
            Some(Token::Symbol('+' | '~' | '\\' | '&')) => {
                self.at += 1;
                self.unary()
            }
            Some(Token::Operator("++" | "--")) => {
                self.at += 1;
                let from = self.at;
                let new = self.unary().plus(1);
                self.assign((from, self.at), new.clone(), false);
                new
            }
            Some(Token::Name(word))
                if self.is_before(word) && !self.is(1, '(') && !self.is(1, '.') && !self.is(1, '=') =>
            {
                self.at += 1;
                self.unary()
            }
            _ => {
                let value = self.primary();
                self.suffixes(value)
            }
        }
    }

    /// Whether a word before a value leaves it as it is.
    pub(super) fn is_before(&self, word: &str) -> bool {
        let is_of = |language| words::BEFORE_IN.get(language).is_some_and(|own| own.has(word));
        words::BEFORE.has(word)
            || self.is_perl() && is_of("perl")
            || self.language == Language::Lua && is_of("lua")
    }
}
