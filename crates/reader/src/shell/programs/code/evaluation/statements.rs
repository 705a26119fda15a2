//! Statements: branches, definitions, and what may fail.

use super::Evaluator;
use super::value::{Range, Value};
use crate::catalogue::program::Language;
use crate::languages::awk::is_filter;
use crate::languages::lexer::Token;
use crate::languages::names::{awk, evaluation as words};

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

    pub(super) fn statement(&mut self) {
        if matches!(self.token(0), Some(Token::Line | Token::Symbol(';' | '}' | ':'))) {
            self.at += 1;
            return;
        }
        if self.is(0, '{') && !self.is_python() && !self.is_ruby() {
            let before = self.name_at(self.at.wrapping_sub(1));
            // A rule of awk runs for each line.
            let is_rule = self.language == Language::Awk
                && self.depth == 1
                && self.calls.is_empty()
                && !matches!(before, Some("BEGIN" | "END"));
            let range = self.bracket();
            return if is_rule { self.repeated(range) } else { self.within(range, Self::statements) };
        }
        let is_awk = self.language == Language::Awk;
        match self.name(0).as_deref() {
            Some(word) if words::QUALIFIERS.has(word) && matches!(self.token(1), Some(Token::Name(_))) => {
                self.at += 1;
            }
            Some("BEGIN" | "END") if is_awk => self.at += 1,
            Some("print" | "printf") if is_awk => self.print_of_awk(),
            Some("def") if self.is_python() || self.is_ruby() => self.definition(),
            Some("function" | "sub" | "func") if matches!(self.token(1), Some(Token::Name(_))) => {
                self.definition();
            }
            Some("class" | "module" | "interface" | "trait")
                if matches!(self.token(1), Some(Token::Name(_))) =>
            {
                self.class();
            }
            Some("if" | "unless") => self.branches(),
            Some("for" | "foreach") => self.loop_over(),
            Some("while" | "until") => self.loop_while(),
            Some("eval" | "do") if self.is(1, '{') && self.is_perl() => {
                self.at += 1;
                let range = self.body(0);
                self.tried(range);
            }
            Some("do") if self.is(1, '{') && !self.is_perl() => {
                self.at += 1;
                let range = self.body(0);
                self.repeated(range);
            }
            Some("try" | "begin") if !self.is(1, '=') => self.attempt(),
            Some("match" | "switch" | "case") if self.chooses() => {
                let column = self.column(self.at);
                self.at += 1;
                if self.is(0, '(') {
                    self.bracket();
                } else if !self.is_ruby() {
                    self.at = self.find(self.at, |token| token.is(':') || token.is('{'));
                }
                let range = self.body(column);
                self.either(range);
            }
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
            Some("use" | "require" | "package" | "no") if self.is_perl() => {
                self.at = self.statement_end(self.at);
            }
            // A value that is deleted is unknown.
            Some("del") if !self.is(1, '=') && !self.is(1, '.') => {
                if let Some(name) = self.name(1) {
                    self.bind(&name, Value::unknown(), false);
                }
                self.at = self.statement_end(self.at);
            }
            Some(word) if words::ALONE.has(word) && !self.is(1, '=') && !self.is(1, '.') => self.at += 1,
            _ => self.simple(),
        }
    }

    /// Whether a choice between several cases begins here.
    fn chooses(&self) -> bool {
        match self.name(0).as_deref() {
            Some("match") if self.is_python() => {
                let line = self.find(self.at, |token| *token == Token::Line);
                !self.is(1, '=') && !self.is(1, '.') && self.is_at(line.wrapping_sub(1), ':')
            }
            Some("switch") => self.is(1, '('),
            Some("case") => self.is_ruby(),
            _ => false,
        }
    }

    /// An expression, with a modifier behind it: `system("…") for @list`, `system("…") if x`.
    pub(super) fn simple(&mut self) {
        let end = self.statement_end(self.at);
        if matches!(self.language, Language::Perl | Language::Ruby) {
            let from = self.at;
            let is_modifier = |token: &Token| {
                token.is(';')
                    || *token == Token::Line && self.is_ruby()
                    || matches!(token.name(), Some("for" | "foreach" | "if" | "unless" | "while" | "until"))
            };
            let at = self.find(from, is_modifier).min(end);
            let word = self.name_at(at).map(str::to_owned);
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
            if brace < self.end && self.is_at(brace, '{') {
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
    pub(super) fn print_of_awk(&mut self) {
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

    pub(super) fn condition(&mut self) -> Option<bool> {
        let negated = self.is_name(0, "unless") || self.is_name(0, "until");
        self.at += 1;
        self.skip_breaks();
        let value = if self.is(0, '(') && !self.is_python() && !self.is_ruby() {
            self.in_brackets(|this| {
                let value = this.list_until(this.end);
                this.skip_to(this.end);
                value
            })
        } else {
            self.expression()
        };
        value.truth().map(|truth| truth != negated)
    }

    pub(super) fn branches(&mut self) {
        let column = self.column(self.at);
        let truth = self.condition();
        if self.is_ruby() {
            return self.branches_of_ruby(truth);
        }
        let mut ways = vec![(truth, self.body(column))];
        loop {
            let before = self.at;
            self.skip_separators();
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

    pub(super) fn branches_of_ruby(&mut self, truth: Option<bool>) {
        let end = self.end_of_ruby(self.at);
        let mut starts = vec![(truth, self.at)];
        let mut at = self.at;
        while at < end {
            let at_else = self.find(at, |token| matches!(token.name(), Some("else" | "elsif")));
            if at_else >= end {
                break;
            }
            let is_else = self.name_at(at_else) == Some("else");
            starts.push((is_else.then_some(true), at_else + 1));
            at = at_else + 1;
        }
        let ends: Vec<usize> = starts.iter().skip(1).map(|(_, at)| at - 1).chain([end]).collect();
        let ways = starts.into_iter().zip(ends).map(|((truth, start), end)| (truth, (start, end))).collect();
        self.ways(ways);
        self.at = end + 1;
    }

    /// Runs a body that an exception may end after any statement; whether it returns.
    fn tried(&mut self, body: Range) -> bool {
        let before = self.scopes.clone();
        self.within(body, Self::statements);
        self.forget_changes(&before, true);
        self.join(before);
        std::mem::take(&mut self.has_returned)
    }

    pub(super) fn attempt(&mut self) {
        let column = self.column(self.at);
        self.at += 1;
        if self.is_ruby() {
            let end = self.end_of_ruby(self.at);
            let range = (self.at, end);
            self.within(range, |this| {
                let at =
                    this.find(this.at, |token| matches!(token.name(), Some("rescue" | "ensure" | "else")));
                let mut returns = false;
                if at < this.end {
                    returns = this.tried((this.at, at));
                } else {
                    this.within((this.at, at), Self::statements);
                }
                if at < this.end && !this.has_returned {
                    let line = this.find(at, |token| {
                        *token == Token::Line || token.is(';') || token.name() == Some("then")
                    });
                    this.ways(vec![(None, (line, this.end))]);
                }
                this.has_returned |= returns;
            });
            self.at = end + 1;
            return;
        }
        let body = self.body(column);
        let returns = self.tried(body);
        loop {
            let place = self.at;
            self.skip_separators();
            let word = self.name(0).filter(|_| !self.is_python() || self.column(self.at) == column);
            if !matches!(word.as_deref(), Some("except" | "catch" | "finally" | "else")) {
                self.at = place;
                break;
            }
            self.at += 1;
            if self.is_python() {
                self.at = self.find(self.at, |token| token.is(':'));
            } else if self.is(0, '(') {
                self.at = self.closing(self.at) + 1;
            }
            let range = self.body(column);
            let is_final = matches!(word.as_deref(), Some("finally" | "else"));
            self.ways(vec![(is_final.then_some(true), range)]);
        }
        self.has_returned |= returns;
    }

    pub(super) fn with(&mut self) {
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
}
