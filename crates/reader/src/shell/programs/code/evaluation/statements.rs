//! Statements: branches, loops, definitions, imports.

use super::value::Value;
use super::{Evaluator, MOST_ROUNDS};
use crate::catalogue::program::Language;
use crate::languages::awk::is_filter;
use crate::languages::lexer::Token;
use crate::languages::names::awk;

/// A range of tokens.
pub(super) type Range = (usize, usize);

impl Evaluator<'_> {
    /// Runs the statements up to the end of the range.
    pub(super) fn statements(&mut self) {
        self.depth += 1;
        while self.at < self.end && !self.has_returned && self.depth < super::DEEPEST * 4 && self.spend() {
            let before = self.at;
            self.statement();
            if self.at == before {
                self.skip_to(before + 1);
            }
        }
        self.depth -= 1;
    }

    fn is_python(&self) -> bool {
        self.language == Language::Python
    }

    fn is_ruby(&self) -> bool {
        self.language == Language::Ruby
    }

    fn statement(&mut self) {
        if matches!(self.token(0), Some(Token::Line | Token::Symbol(';' | '}' | ':'))) {
            self.at += 1;
            return;
        }
        if self.is(0, '{') && !self.is_python() && !self.is_ruby() {
            let before = self.at.checked_sub(1).and_then(|at| self.unit.tokens.get(at)).and_then(Token::name);
            // A rule of awk runs for each line.
            let is_rule = self.language == Language::Awk
                && self.depth == 1
                && self.calls.is_empty()
                && !matches!(before, Some("BEGIN" | "END"));
            let range = (self.at + 1, self.closing(self.at));
            self.at = (range.1 + 1).min(self.end);
            return if is_rule { self.repeated(range) } else { self.within(range, Self::statements) };
        }
        let is_awk = self.language == Language::Awk;
        match self.name(0).as_deref() {
            Some(
                "async" | "export" | "public" | "private" | "protected" | "static" | "final" | "abstract"
                | "default",
            ) if matches!(self.token(1), Some(Token::Name(_))) => {
                self.at += 1;
            }
            Some("BEGIN" | "END") if is_awk => self.at += 1,
            Some("print" | "printf") if is_awk => self.print_of_awk(),
            Some("def") if self.is_python() || self.is_ruby() => self.definition(),
            Some("function" | "sub" | "func") if matches!(self.token(1), Some(Token::Name(_))) => {
                self.definition()
            }
            Some("class" | "module" | "interface" | "trait")
                if matches!(self.token(1), Some(Token::Name(_))) =>
            {
                self.class()
            }
            Some("if" | "unless") => self.branches(),
            Some("for" | "foreach") => self.loop_over(),
            Some("while" | "until") => self.loop_while(),
            Some("do") if self.is(1, '{') && self.language != Language::Perl => {
                self.at += 1;
                let range = self.body(0);
                self.repeated(range);
            }
            Some("try" | "begin") if !self.is(1, '=') => self.attempt(),
            Some("with") if self.is_python() => self.with(),
            Some("import" | "from") if !self.is(1, '(') => self.import(),
            Some("global" | "nonlocal") => {
                let end = self.statement_end(self.at);
                while self.at < end {
                    self.shared.extend(self.name(0).filter(|name| name != "global" && name != "nonlocal"));
                    self.at += 1;
                }
            }
            Some("return") => {
                self.at += 1;
                let end = self.statement_end(self.at);
                let value =
                    if self.at < end && !self.is(0, '}') { self.list_until(end) } else { Value::unknown() };
                self.returned.push(value);
                self.has_returned = true;
            }
            Some("use" | "require" | "package" | "no") if self.language == Language::Perl => {
                let end = self.statement_end(self.at);
                self.at = end;
            }
            Some(
                "pass" | "break" | "continue" | "next" | "last" | "raise" | "throw" | "del" | "assert"
                | "else" | "finally" | "ensure" | "end" | "then" | "echo" | "throws" | "case" | "switch"
                | "match",
            ) if !self.is(1, '=') && !self.is(1, '.') => {
                // A value that is deleted is unknown.
                if self.is_name(0, "del") {
                    let end = self.statement_end(self.at);
                    if let Some(name) = self.name(1) {
                        self.bind(&name, Value::unknown(), false);
                    }
                    self.at = end;
                } else {
                    self.at += 1;
                }
            }
            _ => self.simple(),
        }
    }

    /// An expression, with a modifier behind it: `system("…") for @list`, `system("…") if x`.
    fn simple(&mut self) {
        let end = self.statement_end(self.at);
        if matches!(self.language, Language::Perl | Language::Ruby) {
            let from = self.at;
            let is_modifier = |token: &Token| {
                token.is(';')
                    || *token == Token::Line && self.is_ruby()
                    || matches!(token.name(), Some("for" | "foreach" | "if" | "unless" | "while" | "until"))
            };
            let at = self.find(from, is_modifier).min(end);
            let word = self.unit.tokens.get(at).and_then(Token::name).map(str::to_owned);
            if let Some(word) = word.filter(|_| at > from && at < end) {
                self.at = at + 1;
                let value = self.list_until(end);
                let range = (from, at);
                match word.as_str() {
                    "for" | "foreach" => self.rounds(&["_".to_owned()], &value, range, true),
                    "while" | "until" => self.repeated(range),
                    word => {
                        let truth = value.truth().map(|truth| truth == (word == "if"));
                        self.ways(vec![(truth, range)]);
                    }
                }
                self.at = end;
                return;
            }
        }
        // `/pattern/ { … }` of awk, `NR == 1 { … }`.
        if self.language == Language::Awk {
            let brace = self.find(self.at, |token| token.is('{') || token.is(';') || *token == Token::Line);
            if self.unit.tokens.get(brace).is_some_and(|token| token.is('{')) && brace < self.end {
                self.expression();
                self.at = brace;
                let range = self.body(0);
                self.repeated(range);
                return;
            }
        }
        self.list_until(end);
        let end = self.statement_end(self.at);
        if !self.is(0, '}') && !matches!(self.token(0), Some(Token::Symbol(';') | Token::Line)) {
            self.skip_to(end);
        }
    }

    /// `print text | command`.
    fn print_of_awk(&mut self) {
        self.at += 1;
        let end = self.statement_end(self.at);
        let value = if self.at < end && !self.is(0, '|') && !self.is(0, '>') {
            self.list_until(end)
        } else {
            Value::Unknown("$0".to_owned())
        };
        if !self.take('|') {
            if !matches!(self.token(0), Some(Token::Symbol(';' | '}') | Token::Line) | None) {
                self.skip_to(end);
            }
            return;
        }
        self.take('&');
        let at = self.at;
        let command = self.expression();
        self.handle(at);
        match command.known().as_deref() {
            Some(shell) if awk::SHELLS.has(shell) => self.start_script(&value, at),
            Some(filter) if is_filter(filter) => {}
            _ => self.start_script(&command, at),
        }
    }

    /// The body of a construct whose head ends here, and the place behind it.
    pub(super) fn body(&mut self, column: usize) -> Range {
        if self.is_python() {
            let at = self.find(self.at, |token| token.is(':') || *token == Token::Line);
            self.skip_to(at);
            self.take(':');
            if self.token(0) != Some(&Token::Line) {
                let end = self.find(self.at, |token| *token == Token::Line);
                let range = (self.at, end);
                self.at = end;
                return range;
            }
            self.skip_lines();
            let start = self.at;
            if self.at >= self.end || self.column(start) <= column {
                return (start, start);
            }
            let mut at = start;
            loop {
                at = self.find(at, |token| *token == Token::Line);
                let mut next = at;
                while self.unit.tokens.get(next) == Some(&Token::Line) {
                    next += 1;
                }
                if next >= self.end || at >= self.end || self.column(next) <= column || next == at {
                    let end = next.max(at + 1).min(self.end).max(start);
                    let end = if at >= self.end { self.end } else { end };
                    self.at = end;
                    return (start, end);
                }
                at = next;
            }
        }
        if self.is_ruby() {
            let start = self.at;
            let end = self.end_of_ruby(start);
            self.at = end + 1;
            return (start, end);
        }
        self.skip_lines();
        if self.is(0, '{') {
            let range = (self.at + 1, self.closing(self.at));
            self.at = (range.1 + 1).min(self.end);
            return range;
        }
        let range = (self.at, self.single_end(self.at));
        self.at = range.1;
        range
    }

    /// The end of a statement without braces that may have a head: `if (x) for (…) y();`.
    fn single_end(&self, from: usize) -> usize {
        let token = |at: usize| self.unit.tokens.get(at);
        if matches!(token(from).and_then(Token::name), Some("if" | "for" | "while" | "foreach")) {
            let next = self.closing(from + 1) + 1;
            return match token(next) {
                Some(Token::Symbol('{')) => self.closing(next) + 1,
                _ => self.single_end(next),
            }
            .min(self.end);
        }
        self.statement_end(from)
    }

    /// The index of the `end` of Ruby that closes what is open at an index.
    pub(super) fn end_of_ruby(&self, from: usize) -> usize {
        let mut depth = 0_usize;
        for at in from..self.end {
            let before = at.checked_sub(1).and_then(|at| self.unit.tokens.get(at));
            let starts = at == from
                || before.is_none_or(|token| {
                    matches!(token, Token::Line | Token::Symbol(';' | '=' | '(' | '{' | '|' | '['))
                })
                || matches!(before.and_then(Token::name), Some("then" | "do" | "else" | "begin"));
            match self.unit.tokens.get(at).and_then(Token::name) {
                Some("def" | "class" | "module" | "begin" | "case" | "do") => depth += 1,
                // `while x do` has one `end`.
                Some("if" | "unless" | "for" | "while" | "until") if starts => {
                    depth += 1;
                    let line = self.find(at + 1, |token| *token == Token::Line || token.is(';'));
                    let has_do =
                        (at..line).any(|at| self.unit.tokens.get(at).and_then(Token::name) == Some("do"));
                    let is_loop =
                        !matches!(self.unit.tokens.get(at).and_then(Token::name), Some("if" | "unless"));
                    depth -= usize::from(has_do && is_loop);
                }
                Some("end") if depth == 0 => return at,
                Some("end") => depth -= 1,
                _ => {}
            }
        }
        self.end
    }

    /// Runs each of these ways from the current state; those before the last one may not be taken.
    pub(super) fn ways(&mut self, ways: Vec<(Option<bool>, Range)>) {
        let before = self.scopes.clone();
        let mut after = Vec::new();
        let mut is_decided = false;
        for (truth, range) in ways {
            if truth == Some(false) {
                continue;
            }
            self.scopes.clone_from(&before);
            self.within(range, Self::statements);
            let returns = std::mem::take(&mut self.has_returned);
            let is_only = truth == Some(true) && after.is_empty();
            after.push(std::mem::take(&mut self.scopes));
            if truth == Some(true) {
                is_decided = true;
                self.has_returned = is_only && returns;
                break;
            }
        }
        if !is_decided {
            after.push(before);
        }
        let mut after = after.into_iter();
        self.scopes = after.next().unwrap_or_default();
        for other in after {
            self.join(other);
        }
    }

    fn condition(&mut self) -> Option<bool> {
        let negated = self.is_name(0, "unless") || self.is_name(0, "until");
        self.at += 1;
        self.skip_breaks();
        let value = if self.is(0, '(') && !self.is_python() && !self.is_ruby() {
            let close = self.closing(self.at);
            self.at += 1;
            self.brackets += 1;
            let value = self.list_until(close);
            self.brackets -= 1;
            self.skip_to(close);
            self.at = (close + 1).min(self.end);
            value
        } else {
            self.expression()
        };
        value.truth().map(|truth| truth != negated)
    }

    fn branches(&mut self) {
        let column = self.column(self.at);
        let truth = self.condition();
        if self.is_ruby() {
            return self.branches_of_ruby(truth);
        }
        let mut ways = vec![(truth, self.body(column))];
        loop {
            let before = self.at;
            while matches!(self.token(0), Some(Token::Line | Token::Symbol(';'))) {
                self.at += 1;
            }
            if self.is_python() && self.column(self.at) != column {
                self.at = before;
                break;
            }
            let is_if = matches!(self.name(0).as_deref(), Some("elif" | "elsif" | "elseif"));
            if self.is_name(0, "else") {
                self.at += 1;
                if !self.is_name(0, "if") {
                    ways.push((Some(true), self.body(column)));
                    break;
                }
            } else if !is_if {
                self.at = before;
                break;
            }
            let truth = self.condition();
            ways.push((truth, self.body(column)));
        }
        self.ways(ways);
    }

    fn branches_of_ruby(&mut self, truth: Option<bool>) {
        let end = self.end_of_ruby(self.at);
        let mut starts = vec![(truth, self.at)];
        let mut at = self.at;
        while at < end {
            let at_else = self.find(at, |token| matches!(token.name(), Some("else" | "elsif")));
            if at_else >= end {
                break;
            }
            let is_else = self.unit.tokens.get(at_else).and_then(Token::name) == Some("else");
            starts.push((is_else.then_some(true), at_else + 1));
            at = at_else + 1;
        }
        let ends: Vec<usize> = starts.iter().skip(1).map(|(_, at)| at - 1).chain([end]).collect();
        let ways = starts.into_iter().zip(ends).map(|((truth, start), end)| (truth, (start, end))).collect();
        self.ways(ways);
        self.at = end + 1;
    }

    fn loop_over(&mut self) {
        let column = self.column(self.at);
        self.at += 1;
        self.take_name("await");
        let close = if self.is(0, '(') { Some(self.closing(self.at)) } else { None };
        let is_head = |token: &Token| matches!(token.name(), Some("in" | "of" | "as"));
        // `for x in y`, `for (const x of y)`, `foreach ($list as $x)`.
        if self.is_python() || self.is_ruby() || self.language == Language::Lua {
            let at = self.find(self.at, is_head);
            let names = self.names(self.at, at);
            self.at = at + 1;
            let value = self.list_until(self.end);
            let range = self.body(column);
            return self.rounds(&names, &value, range, false);
        }
        if self.language == Language::Perl {
            let open = self.find(self.at, |token| token.is('(') || token.is('{') || token.is(';'));
            let semicolons = (open..self.closing(open))
                .filter(|at| self.unit.tokens.get(*at).is_some_and(|token| token.is(';')))
                .count();
            if semicolons < 2 {
                let names = self.names(self.at, open);
                let names = if names.is_empty() { vec!["_".to_owned()] } else { names };
                let close = self.closing(open);
                let value = self.within((open + 1, close), |this| {
                    this.brackets = 1;
                    this.flat_list()
                });
                self.at = (close + 1).min(self.end);
                let range = self.body(column);
                return self.rounds(&names, &value, range, false);
            }
            self.at = open;
        }
        let close = close.unwrap_or_else(|| self.closing(self.at));
        let open = self.at;
        let inner = (open + 1, close);
        let at = self.within(inner, |this| this.find(this.at, is_head));
        if at < close {
            let is_php = self.language == Language::Php;
            let (names, list) =
                if is_php { ((at + 1, close), (open + 1, at)) } else { ((open + 1, at), (at + 1, close)) };
            let names = self.names(names.0, names.1);
            let value = self.within(list, |this| {
                this.brackets = 1;
                this.expression()
            });
            self.at = close + 1;
            let range = self.body(column);
            // `for (x in list)` of JavaScript and awk gives keys.
            let is_keys = self.unit.tokens.get(at).and_then(Token::name) == Some("in");
            let value = match (&value, is_keys) {
                (Value::List(items), true) => {
                    Value::List((0..items.len()).map(|at| Value::text(at.to_string())).collect())
                }
                (Value::Table(rows), false) if is_php && names.len() < 2 => {
                    Value::List(rows.iter().map(|(_, value)| value.clone()).collect())
                }
                (Value::Table(rows), false) if is_php => Value::List(
                    rows.iter()
                        .map(|(key, value)| Value::List(vec![Value::text(key.clone()), value.clone()]))
                        .collect(),
                ),
                (Value::List(items), false) if is_php && names.len() > 1 => Value::List(
                    items
                        .iter()
                        .enumerate()
                        .map(|(at, value)| Value::List(vec![Value::text(at.to_string()), value.clone()]))
                        .collect(),
                ),
                _ => value,
            };
            return self.rounds(&names, &value, range, false);
        }
        self.counted(inner, close, column);
    }

    /// `for (i = 0; i < n; i++)`.
    fn counted(&mut self, inner: Range, close: usize, column: usize) {
        let ends = self.within(inner, |this| {
            let one = this.find(this.at, |token| token.is(';'));
            (one, this.find(one + 1, |token| token.is(';')))
        });
        self.within((inner.0, ends.0), |this| {
            this.brackets = 1;
            while this.at < this.end {
                let before = this.at;
                this.expression();
                if !this.take(',') || this.at == before {
                    break;
                }
            }
        });
        let condition = (ends.0 + 1, ends.1);
        let step = (ends.1 + 1, close);
        self.at = close + 1;
        let body = self.body(column);
        for _ in 0..MOST_ROUNDS {
            let holds = self.within(condition, |this| {
                this.brackets = 1;
                this.expression().truth()
            });
            match holds {
                Some(false) => return,
                None => break,
                Some(true) => {}
            }
            self.within(body, Self::statements);
            if self.has_returned || !self.spend() {
                return;
            }
            self.within(step, |this| {
                this.brackets = 1;
                this.expression();
            });
        }
        self.repeated(body);
    }

    fn loop_while(&mut self) {
        let column = self.column(self.at);
        let head = self.at;
        for _ in 0..MOST_ROUNDS {
            self.at = head;
            let found = self.found.len();
            let holds = self.condition();
            let body = self.body(column);
            // awk runs the command of `getline` once, unless the loop closes it.
            let closes = self.language != Language::Awk
                || self.names(body.0, body.1).iter().any(|name| name == "close");
            if closes && holds.is_none() {
                self.found.iter_mut().skip(found).for_each(|found| found.repeats = true);
            }
            match holds {
                Some(false) => return,
                Some(true) if self.spend() => self.within(body, Self::statements),
                _ => return self.repeated(body),
            }
            if self.has_returned {
                return;
            }
        }
        let body = (head, self.at);
        self.is_complete = false;
        self.repeated(body);
    }

    /// Runs a body that may run any number of times: what it changes is unknown.
    pub(super) fn repeated(&mut self, body: Range) {
        self.loops += 1;
        let before = self.scopes.clone();
        self.within(body, Self::statements);
        self.has_returned = false;
        let mut has_changed = false;
        for (own, old) in self.scopes.iter_mut().zip(&before) {
            for (name, value) in own {
                if old.get(name).is_some_and(|old| old != value) {
                    *value = Value::unknown();
                    has_changed = true;
                }
            }
        }
        if has_changed {
            self.within(body, Self::statements);
            self.has_returned = false;
            for (own, old) in self.scopes.iter_mut().zip(&before) {
                for (name, value) in own {
                    if old.get(name).is_some_and(|old| old != value) {
                        *value = Value::unknown();
                    }
                }
            }
        }
        self.join(before);
        self.loops -= 1;
    }

    /// Runs a body for each element of a list.
    pub(super) fn rounds(&mut self, names: &[String], list: &Value, body: Range, flattens: bool) {
        match list.items().filter(|items| items.len() <= MOST_ROUNDS) {
            Some(items) => {
                for item in items {
                    let inner = if flattens { item.items() } else { None };
                    for item in inner.unwrap_or_else(|| vec![item]) {
                        self.bind_all(names, &item);
                        self.within(body, Self::statements);
                        if self.has_returned || !self.spend() {
                            return;
                        }
                    }
                }
            }
            None => {
                for name in names {
                    self.bind(name, Value::Unknown(name.clone()), true);
                }
                self.repeated(body);
            }
        }
    }

    /// Gives names the value, or each the element at its place.
    pub(super) fn bind_all(&mut self, names: &[String], value: &Value) {
        if let [name] = names {
            return self.bind(name, value.clone(), true);
        }
        let items = value.items().filter(|items| items.len() == names.len());
        for (at, name) in names.iter().enumerate() {
            let item = items.as_ref().and_then(|items| items.get(at)).cloned();
            self.bind(name, item.unwrap_or_else(Value::unknown), true);
        }
    }

    /// The names of variables in a range.
    pub(super) fn names(&self, from: usize, to: usize) -> Vec<String> {
        let tokens = self.unit.tokens.get(from..to.min(self.end)).unwrap_or_default();
        let names = tokens.iter().filter_map(Token::name);
        names
            .filter(|name| !matches!(*name, "const" | "let" | "var" | "my" | "our" | "local"))
            .map(str::to_owned)
            .collect()
    }

    fn attempt(&mut self) {
        let column = self.column(self.at);
        self.at += 1;
        if self.is_ruby() {
            let end = self.end_of_ruby(self.at);
            let range = (self.at, end);
            self.within(range, |this| {
                let at =
                    this.find(this.at, |token| matches!(token.name(), Some("rescue" | "ensure" | "else")));
                this.within((this.at, at), Self::statements);
                if at < this.end && !this.has_returned {
                    let line = this.find(at, |token| {
                        *token == Token::Line || token.is(';') || token.name() == Some("then")
                    });
                    this.ways(vec![(None, (line, this.end))]);
                }
            });
            self.at = end + 1;
            return;
        }
        let body = self.body(column);
        // An exception may end it after any statement.
        let before = self.scopes.clone();
        self.within(body, Self::statements);
        let returns = std::mem::take(&mut self.has_returned);
        self.join(before);
        loop {
            let place = self.at;
            while matches!(self.token(0), Some(Token::Line | Token::Symbol(';'))) {
                self.at += 1;
            }
            let word = self.name(0).filter(|_| !self.is_python() || self.column(self.at) == column);
            match word.as_deref() {
                Some("except" | "catch" | "finally" | "else") => {
                    let is_final = matches!(word.as_deref(), Some("finally" | "else"));
                    self.at += 1;
                    if self.is(0, '(') {
                        self.at = self.closing(self.at) + 1;
                    }
                    let range = if self.is_python() {
                        self.at = self.find(self.at, |token| token.is(':'));
                        self.body(column)
                    } else {
                        self.body(column)
                    };
                    self.ways(vec![(is_final.then_some(true), range)]);
                }
                _ => {
                    self.at = place;
                    break;
                }
            }
        }
        self.has_returned |= returns;
    }

    fn with(&mut self) {
        let column = self.column(self.at);
        self.at += 1;
        loop {
            let value = self.expression();
            if self.take_name("as") {
                let end = self.find(self.at, |token| token.is(':') || token.is(',') || *token == Token::Line);
                let names = self.names(self.at, end);
                self.bind_all(&names, &value);
                self.at = end;
            }
            if !self.take(',') {
                break;
            }
        }
        let range = self.body(column);
        self.within(range, Self::statements);
    }

    fn import(&mut self) {
        let end = self.statement_end(self.at);
        if !self.is_python() {
            self.import_of_script(end);
            return;
        }
        let is_from = self.is_name(0, "from");
        self.at += 1;
        let dotted = |this: &mut Self| {
            let mut path = String::new();
            while let Some(Token::Name(_) | Token::Symbol('.')) = this.token(0) {
                let word = this.name(0);
                if matches!(word.as_deref(), Some("import" | "as")) {
                    break;
                }
                path.push_str(word.as_deref().unwrap_or("."));
                this.at += 1;
            }
            path
        };
        let module = if is_from { Some(dotted(self)) } else { None };
        self.take_name("import");
        while self.at < end {
            if !matches!(self.token(0), Some(Token::Name(_))) {
                self.at += 1;
                continue;
            }
            let path = dotted(self);
            let alias = if self.take_name("as") { self.name(0) } else { None };
            self.at += usize::from(alias.is_some());
            let first = path.split('.').next().unwrap_or_default().to_owned();
            let value = match (&module, &alias) {
                (Some(module), _) => format!("{module}.{path}"),
                (None, Some(_)) => path,
                (None, None) => first.clone(),
            };
            self.bind(&alias.unwrap_or(first), Value::Path(value), true);
        }
    }

    /// `import {execSync as x} from 'child_process'`.
    fn import_of_script(&mut self, end: usize) {
        let tokens = self.unit.tokens.get(self.at..end).unwrap_or_default();
        let module = tokens.iter().rev().find_map(|token| match token {
            Token::Text(text) => text.literal().map(str::to_owned),
            _ => None,
        });
        let module = module.map(|module| module.trim_start_matches("node:").to_owned()).unwrap_or_default();
        let mut bound: Vec<(String, String)> = Vec::new();
        let mut is_inside = false;
        let mut at = 1;
        while let Some(token) = tokens.get(at) {
            match token {
                Token::Symbol('{') => is_inside = true,
                Token::Symbol('}') => is_inside = false,
                Token::Name(name) if name == "from" => break,
                Token::Name(name) if name == "as" => {
                    if let (Some(Token::Name(other)), Some(last)) = (tokens.get(at + 1), bound.last_mut()) {
                        last.0.clone_from(other);
                        at += 1;
                    }
                }
                Token::Name(name) if is_inside => bound.push((name.clone(), format!("{module}.{name}"))),
                Token::Name(name) => bound.push((name.clone(), module.clone())),
                Token::Symbol('*') => bound.push((String::new(), module.clone())),
                _ => {}
            }
            at += 1;
        }
        for (name, path) in bound {
            self.bind(&name, Value::Path(path), true);
        }
        self.at = end;
    }
}
