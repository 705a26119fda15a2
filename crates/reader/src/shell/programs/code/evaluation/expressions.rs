//! Expressions, which are evaluated while they are read.

use std::rc::Rc;

use super::value::{Parameter, Takes, Value, merged};
use super::{DEEPEST, Evaluator, Unit};
use crate::catalogue::program::Language;
use crate::languages::lexer::Token;
use crate::languages::names::starts;
use crate::languages::text::{Part, Text};

/// Keywords that end an expression.
const ENDS: [&str; 22] = [
    "for", "foreach", "if", "else", "elif", "elsif", "in", "of", "then", "do", "unless", "while", "until",
    "as", "end", "from", "async", "and", "or", "rescue", "is", "getline",
];
/// Keywords before a value, which remains what it is.
const BEFORE: [&str; 12] =
    ["await", "new", "typeof", "void", "yield", "const", "let", "var", "delete", "print", "echo", "return"];
/// Such keywords of Perl.
const BEFORE_IN_PERL: [&str; 4] = ["my", "our", "local", "scalar"];

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
        if values.len() == 1 { values.pop().unwrap_or_else(Value::unknown) } else { Value::List(values) }
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

    fn assigned(&mut self) -> Value {
        let from = self.at;
        if let Some(value) = self.taken_apart() {
            return value;
        }
        let declares =
            matches!(self.name(0).as_deref(), Some("my" | "our" | "local" | "const" | "let" | "var"));
        let value = self.choice();
        self.skip_breaks();
        let to = self.at;
        // `x: type = value` of Python.
        if self.language == Language::Python && self.brackets == 0 && self.is(0, ':') && to == from + 1 {
            let equals = self.find(to, |token| token.is('=') || *token == Token::Line);
            if self.unit.tokens.get(equals).is_some_and(|token| token.is('='))
                && equals < self.end
                && !self.is(1, '=')
            {
                self.at = equals;
            }
        }
        if self.is(0, ':') && self.is(1, '=') {
            self.at += 1;
        }
        if self.is(0, '=') && !self.is(1, '=') && !self.is(1, '>') && !self.is(1, '~') {
            self.at += 1;
            self.skip_lines();
            let new = if self.brackets == 0 && self.language == Language::Python {
                let end = self.statement_end(self.at);
                self.list_until(end)
            } else {
                self.expression()
            };
            self.assign((from, to), new.clone(), declares);
            return new;
        }
        // `+=`, `.=`, `<<=`, `||=`.
        let operator = match self.token(0) {
            Some(Token::Symbol(symbol @ ('+' | '.' | '-' | '*' | '/' | '%' | '|' | '?')))
                if self.is(1, '=') =>
            {
                Some((*symbol, 2))
            }
            Some(Token::Operator("||" | "&&")) if self.is(1, '=') => Some(('|', 2)),
            _ => None,
        };
        if let Some((operator, length)) = operator {
            self.at += length;
            self.skip_lines();
            let other = self.expression();
            let other = if matches!(value, Value::List(_)) && operator == '+' {
                other.items().map_or_else(Value::unknown, Value::List)
            } else {
                other
            };
            let new = match operator {
                '+' | '.' => self.sum(&value, &other),
                _ => Value::unknown(),
            };
            // A list grows wherever it is bound.
            if matches!(value, Value::List(_)) {
                self.replace(&value, &new);
            }
            self.assign((from, to), new.clone(), false);
            return new;
        }
        if matches!(self.token(0), Some(Token::Operator("++" | "--"))) {
            let step = if self.token(0) == Some(&Token::Operator("++")) { 1 } else { -1 };
            self.at += 1;
            let new = value
                .number()
                .map_or_else(Value::unknown, |number| Value::Number(number.saturating_add(step)));
            self.assign((from, to), new, false);
            return value;
        }
        value
    }

    /// `const {a: b} = …`, `const [a, ...b] = …`, `my ($a, $b) = …`.
    fn taken_apart(&mut self) -> Option<Value> {
        let from = self.at;
        let skipped = usize::from(matches!(
            self.name(0).as_deref(),
            Some("my" | "our" | "local" | "const" | "let" | "var")
        ));
        let open = from + skipped;
        let token = self.unit.tokens.get(open).filter(|_| open < self.end)?;
        // `a, b = …`.
        if self.language != Language::Perl
            && skipped == 0
            && matches!(token, Token::Name(_))
            && self.is(1, ',')
            && self.brackets == 0
        {
            let end = self.statement_end(from);
            let equals = self.find(from, |token| token.is('=')).min(end);
            let is_list = (from..equals).all(|at| {
                matches!(
                    self.unit.tokens.get(at),
                    Some(Token::Name(_) | Token::Symbol(',' | '*' | '.' | '(' | ')'))
                )
            });
            if equals >= end
                || !is_list
                || self.unit.tokens.get(equals + 1).is_some_and(|token| token.is('='))
            {
                return None;
            }
            let has_field = (from..equals).any(|at| {
                self.unit
                    .tokens
                    .get(at)
                    .is_some_and(|token| !matches!(token, Token::Name(_) | Token::Symbol(',')))
            });
            let names = self.names(from, equals);
            self.at = equals + 1;
            let value = self.list_until(end);
            self.bind_all(&names, &if has_field { Value::unknown() } else { value.clone() });
            return Some(value);
        }
        if !matches!(token, Token::Symbol('{' | '[' | '('))
            || (skipped == 0 && self.language != Language::Perl)
        {
            return None;
        }
        let close = self.closing(open);
        if !self.unit.tokens.get(close + 1).is_some_and(|token| token.is('='))
            || self.unit.tokens.get(close + 2).is_some_and(|token| token.is('=') || token.is('~'))
        {
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
                let name = if is_rest && self.language == Language::Perl {
                    format!("@{name}")
                } else {
                    (*name).to_owned()
                };
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
            self.bind(name, field.unwrap_or_else(Value::unknown), true);
        }
        Some(value)
    }

    /// Assigns to the name, the field or the element that stands in a range.
    fn assign(&mut self, range: (usize, usize), value: Value, declares: bool) {
        let tokens: Vec<Token> = self.unit.tokens.get(range.0..range.1).unwrap_or_default().to_vec();
        let mut names: Vec<String> = Vec::new();
        let mut sign = "";
        let mut has_index = false;
        for (at, token) in tokens.iter().enumerate() {
            match token {
                Token::Name(name) if self.is_before(name) => {}
                Token::Name(name) => names.push(name.clone()),
                Token::Symbol('@' | '%') if self.language == Language::Perl => sign = "@",
                Token::Symbol('@') if self.language == Language::Ruby => names.push("self".to_owned()),
                Token::Symbol('[' | '{') => {
                    has_index = at > 0;
                    break;
                }
                _ => {}
            }
        }
        if self.language == Language::Ruby && names.first().is_some_and(|name| name == "self") {
            names.dedup();
        }
        // `$this->name` of PHP.
        let path = names.join(".");
        if path.is_empty() {
            return;
        }
        if let Some(name) = path.strip_prefix("process.env.") {
            let name = name.to_owned();
            return self.set_variable(Some(name), &value);
        }
        if has_index {
            // `environ["PATH"] = …` changes what is started.
            if path.ends_with("environ") || path.ends_with("process.env") || path == "ENV" || path == "_ENV" {
                let index = tokens
                    .iter()
                    .position(|token| matches!(token, Token::Symbol('[' | '{')))
                    .unwrap_or_default();
                let key = self.within((range.0 + index + 1, range.1.saturating_sub(1)), |this| {
                    this.brackets = 1;
                    this.key()
                });
                self.set_variable(key.known(), &value);
                return;
            }
            let keys =
                if self.language == Language::Perl { vec![format!("@{path}"), path] } else { vec![path] };
            for path in keys {
                if let Some(old) = self.lookup(&path).cloned() {
                    let index = tokens.iter().position(|token| matches!(token, Token::Symbol('[' | '{')));
                    let new =
                        index.and_then(|index| self.with_element(&old, (range.0 + index, range.1), &value));
                    let new = new.unwrap_or_else(Value::unknown);
                    self.replace(&old, &new);
                    self.bind(&path, new, false);
                }
            }
            return;
        }
        let path = format!("{sign}{path}");
        let value = match value {
            // An array or a hash of Perl.
            Value::List(items)
                if sign == "@" && items.len() % 2 == 0 && tokens.iter().any(|token| token.is('%')) =>
            {
                let pairs =
                    items.chunks(2).filter_map(|pair| Some((pair.first()?.known()?, pair.get(1)?.clone())));
                Value::Table(pairs.collect())
            }
            Value::List(_) | Value::Table(_) | Value::Unknown(_) | Value::Several(_) => value,
            value if sign == "@" && matches!(value, Value::Text(_)) => Value::List(vec![value]),
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
        match name {
            Some(name) => self.environment.push((name, value.parts())),
            None => {
                self.is_complete = false;
                self.add(super::Call::Unclear);
            }
        }
    }

    /// A list or a table with another value at the index that stands in a range.
    fn with_element(&mut self, old: &Value, index: (usize, usize), value: &Value) -> Option<Value> {
        let close = self.closing(index.0);
        if close + 1 != index.1 {
            return None;
        }
        let key = self.within((index.0 + 1, close), |this| {
            this.brackets = 1;
            this.key()
        });
        match old {
            Value::List(items) => {
                let at = key.number()?;
                let at = if at < 0 { at + i64::try_from(items.len()).ok()? } else { at };
                let mut items = items.clone();
                *items.get_mut(usize::try_from(at).ok()?)? = value.clone();
                Some(Value::List(items))
            }
            Value::Table(rows) => {
                let key = key.known()?;
                let mut rows: Vec<_> = rows.iter().filter(|(own, _)| *own != key).cloned().collect();
                rows.push((key, value.clone()));
                Some(Value::Table(rows))
            }
            _ => None,
        }
    }

    /// `a if c else b`, `c ? a : b`, `a or b`, `a && b`.
    fn choice(&mut self) -> Value {
        let mut value = self.comparison();
        loop {
            self.skip_breaks();
            // `command | getline line`.
            if self.language == Language::Awk && self.is(0, '|') {
                let ahead = if self.is(1, '&') { 2 } else { 1 };
                if self.is_name(ahead, "getline") {
                    self.start_script(&value, self.at.saturating_sub(1));
                    self.at += ahead + 1;
                    if let Some(name) = self.name(0).filter(|name| !ENDS.contains(&name.as_str())) {
                        self.bind(&name, Value::Unknown(name.clone()), false);
                        self.at += 1;
                    }
                    value = Value::unknown();
                    continue;
                }
                return value;
            }
            if self.language == Language::Python && self.is_name(0, "if") {
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
                    value = match truth {
                        Some(true) => value,
                        Some(false) => other,
                        None => Value::several([value, other]),
                    };
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
                    value = match truth {
                        Some(true) => one,
                        Some(false) => other,
                        None => Value::several([one, other]),
                    };
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
            value = match (value.truth(), is_or) {
                (Some(true), true) | (Some(false), false) => value,
                (Some(_), _) => other,
                (None, _) => Value::several([value, other]),
            };
        }
    }

    fn comparison(&mut self) -> Value {
        let value = self.addition();
        self.skip_breaks();
        let next = |at: usize| self.unit.tokens.get(self.at + at).filter(|_| self.at + at < self.end);
        let is = |at: usize, symbol: char| next(at).is_some_and(|token| token.is(symbol));
        let (operator, length) = match next(0) {
            Some(Token::Symbol('=')) if is(1, '=') => ("==", if is(2, '=') { 3 } else { 2 }),
            Some(Token::Symbol('=')) if is(1, '~') => ("?", 2),
            Some(Token::Symbol('!')) if is(1, '=') => ("!=", if is(2, '=') { 3 } else { 2 }),
            Some(Token::Symbol('!')) if is(1, '~') => ("?", 2),
            Some(Token::Symbol('<')) if is(1, '=') => ("<=", 2),
            Some(Token::Symbol('>')) if is(1, '=') => (">=", 2),
            Some(Token::Symbol('<')) if !is(1, '<') => ("<", 1),
            Some(Token::Operator("<")) if is(1, '=') => ("<=", 2),
            Some(Token::Operator("<")) => ("<", 1),
            Some(Token::Symbol('>')) => (">", 1),
            Some(Token::Symbol('~')) => ("?", 1),
            Some(Token::Name(word))
                if word == "in" && self.brackets == 0 && self.language == Language::Python =>
            {
                ("?", 1)
            }
            Some(Token::Name(word)) if matches!(word.as_str(), "eq" | "instanceof" | "is") => ("?", 1),
            Some(Token::Name(word)) if word == "not" && next(1).and_then(Token::name) == Some("in") => {
                ("?", 2)
            }
            _ => return value,
        };
        // `print x > file` of awk, and a pattern that changes the text before it.
        if operator == "?" && self.language == Language::Perl {
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
        match holds {
            Some(true) => Value::Path("True".to_owned()),
            Some(false) => Value::Path("False".to_owned()),
            None => Value::unknown(),
        }
    }

    /// Forgets the variable before a substitution: `$x =~ s/a/b/`.
    fn forget_before(&mut self) {
        let Some(name) = self.at.checked_sub(1).and_then(|at| self.unit.tokens.get(at)).and_then(Token::name)
        else {
            return;
        };
        let name = name.to_owned();
        if self.lookup(&name).is_some() {
            self.bind(&name, Value::unknown(), false);
        }
    }

    pub(super) fn sum(&self, one: &Value, two: &Value) -> Value {
        if let (Value::Number(one), Value::Number(two)) = (one, two) {
            return Value::Number(one.saturating_add(*two));
        }
        one.joined(two)
    }

    fn addition(&mut self) -> Value {
        use Language::{Awk, Lua, Perl, Php, Ruby};
        let mut value = self.product();
        loop {
            self.skip_breaks();
            let joins = matches!(self.language, Perl | Php);
            match self.token(0) {
                Some(Token::Symbol('+')) if !self.is(1, '=') => {
                    self.at += 1;
                    self.skip_lines();
                    let other = self.product();
                    value = self.sum(&value, &other);
                }
                Some(Token::Symbol('-')) if !self.is(1, '=') && !self.is(1, '>') => {
                    self.at += 1;
                    let other = self.product();
                    value = match (value.number(), other.number()) {
                        (Some(one), Some(two)) => Value::Number(one.saturating_sub(two)),
                        _ => Value::unknown(),
                    };
                }
                Some(Token::Symbol('.')) if joins && !self.is(1, '=') && !self.is(1, '.') => {
                    self.at += 1;
                    let other = self.product();
                    value = value.joined(&other);
                }
                Some(Token::Symbol('.')) if self.language == Lua && self.is(1, '.') => {
                    self.at += 2;
                    let other = self.product();
                    value = value.joined(&other);
                }
                // `1..3`.
                Some(Token::Symbol('.')) if self.is(1, '.') && !self.is(2, '.') => {
                    self.at += 2;
                    let other = self.product();
                    value = range(value.number(), other.number()).unwrap_or_else(Value::unknown);
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
                    if let Some(name) = from
                        .checked_sub(1)
                        .and_then(|at| self.unit.tokens.get(at))
                        .and_then(Token::name)
                        .map(str::to_owned)
                        && self.lookup(&name).is_some()
                    {
                        self.replace(&value, &new);
                        self.bind(&name, new.clone(), false);
                    }
                    value = new;
                }
                Some(Token::Text(_) | Token::Field(_) | Token::Value) if self.language == Awk => {
                    let other = self.product();
                    value = value.joined(&other);
                }
                Some(Token::Name(name)) if self.language == Awk && !ENDS.contains(&name.as_str()) => {
                    let other = self.product();
                    value = value.joined(&other);
                }
                _ => return value,
            }
            if !self.spend() {
                return value;
            }
        }
    }

    fn product(&mut self) -> Value {
        let mut value = self.unary();
        loop {
            self.skip_breaks();
            match self.token(0) {
                Some(Token::Symbol('%'))
                    if !self.is(1, '=') && matches!(self.language, Language::Python | Language::Ruby) =>
                {
                    self.at += 1;
                    let other = self.unary();
                    value = self.formatted(&value, &other);
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

    fn unary(&mut self) -> Value {
        self.skip_breaks();
        match self.token(0) {
            Some(Token::Symbol('!')) if !self.is(1, '=') => {
                self.at += 1;
                let value = self.unary();
                self.not(&value)
            }
            Some(Token::Name(word)) if word == "not" => {
                self.at += 1;
                let value = self.comparison();
                self.not(&value)
            }
            Some(Token::Symbol('-')) => {
                self.at += 1;
                let value = self.unary();
                value.number().map_or_else(Value::unknown, |number| Value::Number(number.saturating_neg()))
            }
            Some(Token::Symbol('+' | '~' | '\\' | '&')) => {
                self.at += 1;
                self.unary()
            }
            Some(Token::Operator("++" | "--")) => {
                self.at += 1;
                let from = self.at;
                let value = self.unary();
                let new = value
                    .number()
                    .map_or_else(Value::unknown, |number| Value::Number(number.saturating_add(1)));
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
    fn is_before(&self, word: &str) -> bool {
        BEFORE.contains(&word)
            || (self.language == Language::Perl && BEFORE_IN_PERL.contains(&word))
            || (self.language == Language::Lua && word == "local")
    }

    fn not(&self, value: &Value) -> Value {
        match value.truth() {
            Some(true) => Value::Path("False".to_owned()),
            Some(false) => Value::Path("True".to_owned()),
            None => Value::unknown(),
        }
    }

    /// The value of a text with what it interpolates.
    pub(super) fn text(&mut self, text: &Text) -> Value {
        if !Value::is_exact(text) {
            return Value::unknown();
        }
        let mut parts = Vec::new();
        for part in &text.parts {
            match part {
                Part::Known(known) => parts.push(Part::Known(known.clone())),
                Part::Unknown(source) => parts.extend(self.interpolated(source).parts()),
            }
        }
        Value::Text(merged(parts))
    }

    /// The value of an expression in a text, as written with its braces.
    fn interpolated(&mut self, source: &str) -> Value {
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
        let before = std::mem::replace(&mut self.unit, unit);
        let value = self.within((0, end), |this| {
            this.brackets = 1;
            let value = this.expression();
            // `{x!r:>10}`.
            if this.at < this.end { Value::unknown() } else { value }
        });
        self.unit = before;
        match value {
            Value::Text(_) | Value::Several(_) | Value::Number(_) => value,
            _ => Value::Unknown(source.to_owned()),
        }
    }

    fn primary(&mut self) -> Value {
        let Some(token) = self.token(0).cloned() else { return Value::unknown() };
        match token {
            Token::Text(text) => {
                self.handle(self.at);
                self.at += 1;
                let mut value = self.text(&text);
                if self.language == Language::Python {
                    self.skip_breaks();
                    while let Some(Token::Text(text)) = self.token(0).cloned() {
                        self.handle(self.at);
                        self.at += 1;
                        let next = self.text(&text);
                        value = value.joined(&next);
                        self.skip_breaks();
                    }
                }
                value
            }
            Token::Shell(text) => {
                let at = self.at;
                self.at += 1;
                let value = self.text(&text);
                self.start_script(&value, at);
                Value::Result(Rc::new((String::new(), vec![])))
            }
            Token::Value => {
                let number = self.source().to_owned();
                self.at += 1;
                let is_number = number.chars().all(|c| c.is_ascii_digit());
                number.parse().ok().filter(|_| is_number).map_or_else(Value::unknown, Value::Number)
            }
            Token::Field(field) => {
                self.at += 1;
                Value::Unknown(field)
            }
            Token::Symbol('(') => self.parenthesised(),
            Token::Symbol('[') => self.bracketed('['),
            Token::Symbol('{') => self.table(),
            Token::Symbol('$' | '@' | '%')
                if matches!(self.language, Language::Perl | Language::Php | Language::Ruby) =>
            {
                self.variable()
            }
            Token::Symbol('*') => {
                // `*list`.
                self.at += 1;
                self.take('*');
                let value = self.unary();
                value.items().map_or_else(Value::unknown, Value::List)
            }
            Token::Symbol('.') if self.are("...") => {
                self.at += 3;
                self.unary()
            }
            Token::Symbol('-') if self.is(1, '>') && self.language == Language::Ruby => {
                self.at += 2;
                self.block_of_ruby(true).unwrap_or_else(Value::unknown)
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
    fn variable(&mut self) -> Value {
        let is_list = !self.is(0, '$');
        let from = self.at;
        self.at += 1;
        // `@$x`, `@{$x}`, `$#x`.
        if self.is(0, '$') {
            return self.variable();
        }
        if self.is(0, '{') {
            let close = self.closing(self.at);
            let value = if matches!(self.token(1), Some(Token::Name(_))) && self.at + 2 == close {
                let name = self.name(1).unwrap_or_default();
                self.lookup(&name).cloned().unwrap_or(Value::Unknown(format!("${name}")))
            } else {
                self.within((self.at + 1, close), |this| {
                    this.brackets = 1;
                    this.expression()
                })
            };
            self.at = (close + 1).min(self.end);
            return value;
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
        self.lookup(&name).cloned().unwrap_or(Value::Unknown(if self.language == Language::Ruby {
            name
        } else {
            format!("${name}")
        }))
    }

    fn named(&mut self, name: &str) -> Value {
        match name {
            "lambda" if self.language == Language::Python => {
                self.at += 1;
                let colon = self.find(self.at, |token| token.is(':'));
                let parameters = self.parameters(self.at, colon);
                self.at = (colon + 1).min(self.end);
                return self.arrow(parameters);
            }
            "function" | "sub" | "fn" if self.is(1, '(') || self.is(1, '{') => {
                self.at += 1;
                if name == "fn" {
                    let close = self.closing(self.at);
                    let parameters = self.parameters(self.at + 1, close);
                    self.at = (close + 3).min(self.end);
                    return self.arrow(parameters);
                }
                let function = self.function(String::new(), 0);
                return Value::Function(function);
            }
            "function" if self.is(2, '(') => {
                self.at += 2;
                return Value::Function(self.function(String::new(), 0));
            }
            "async" => {
                self.at += 1;
                return self.primary();
            }
            "push" | "unshift" if self.language == Language::Perl => {
                return self.push_of_perl(name == "push");
            }
            "shift" if self.language == Language::Perl => {
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
            "lambda" | "proc" if self.language == Language::Ruby => {
                self.at += 1;
                return self.block_of_ruby(false).unwrap_or_else(Value::unknown);
            }
            _ => {}
        }
        let is_script = matches!(self.language, Language::Node | Language::Deno);
        if is_script && self.is(1, '=') && self.is(2, '>') {
            self.at += 3;
            let parameter = Parameter { names: vec![name.to_owned()], takes: Takes::One, default: None };
            return self.arrow(vec![parameter]);
        }
        if ENDS.contains(&name) && !self.is(1, '(') {
            return Value::unknown();
        }
        self.at += 1;
        let known = self.lookup(name).cloned();
        known.unwrap_or_else(|| Value::Path(name.to_owned()))
    }

    /// `push @list, …`.
    fn push_of_perl(&mut self, is_last: bool) -> Value {
        self.at += 1;
        let close = if self.is(0, '(') { self.closing(self.at) } else { self.statement_end(self.at) };
        self.take('(');
        let range = (self.at, close);
        let list = self.within(range, |this| {
            this.brackets = 1;
            let name = this.is(0, '@').then(|| this.name(1)).flatten();
            let old = this.variable();
            this.take(',');
            let more = this.flat_list();
            (name, old, more)
        });
        self.at = close.min(self.end);
        self.take(')');
        let (name, old, more) = list;
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
    fn arrow(&mut self, parameters: Vec<Parameter>) -> Value {
        self.skip_lines();
        if self.is(0, '{') && self.language != Language::Python {
            let close = self.closing(self.at);
            let body = (self.at + 1, close);
            self.at = (close + 1).min(self.end);
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
            let close = self.closing(self.at);
            parameters = self.parameters(self.at + 1, close);
            self.at = (close + 1).min(self.end);
        }
        let is_brace = self.is(0, '{');
        if !is_brace && !self.is_name(0, "do") {
            return None;
        }
        let open = self.at;
        self.at += 1;
        if self.is(0, '|') {
            let close = self.find(self.at + 1, |token| token.is('|'));
            parameters = self.parameters(self.at + 1, close);
            self.at = (close + 1).min(self.end);
        }
        let end = if is_brace { self.closing(open) } else { self.end_of_ruby(self.at) };
        let body = (self.at, end);
        self.at = (end + 1).min(self.end);
        Some(Value::Function(self.define(String::new(), parameters, body, false)))
    }

    fn parenthesised(&mut self) -> Value {
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
        let value = self.bracketed('(');
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

    /// The value of the brackets that open here.
    pub(super) fn primary_brackets(&mut self) -> Value {
        self.bracketed('(')
    }

    /// The values in brackets, as a list; those of a comprehension, for each of its rounds.
    fn bracketed(&mut self, _open: char) -> Value {
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

    fn comprehension(&mut self, at_for: usize) -> Value {
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
    fn table(&mut self) -> Value {
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
    fn pairs(&mut self, start: usize) -> Value {
        self.at = start;
        let mut rows: Vec<(String, Value)> = Vec::new();
        let mut is_whole = true;
        while self.at < self.end && self.spend() {
            self.skip_lines();
            if self.at >= self.end {
                break;
            }
            if self.are("**") || self.are("...") {
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
                    name.map(Value::text).unwrap_or_else(Value::unknown)
                } else {
                    let from = self.at;
                    let value = self.comparison();
                    if is_short && !self.is(0, ':') {
                        let _ = from;
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
                            self.language == Language::Perl || starts::CALLS.has(own) || self.is(0, ':')
                        }
                        Some(Token::Symbol('[' | '*')) => starts::CALLS.has(own),
                        Some(Token::Name(name)) => {
                            !ENDS.contains(&name.as_str())
                                && !matches!(name.as_str(), "x" | "eq" | "ne" | "lt" | "gt" | "cmp")
                        }
                        _ => false,
                    }
            }
            Language::Lua => matches!(self.token(0), Some(Token::Text(_))),
            _ => false,
        }
    }
}

/// The numbers from one to another one.
pub(super) fn range(from: Option<i64>, to: Option<i64>) -> Option<Value> {
    let (from, to) = (from?, to?);
    let length = to.checked_sub(from)?;
    (length < 10_000).then(|| Value::List((from..=to).map(Value::Number).collect()))
}
