//! The place of the evaluator in the tokens, and the ranges of constructs.

use std::rc::Rc;

use super::Evaluator;
use super::value::{Range, Unit, Value};
use crate::catalogue::program::Language;
use crate::languages::lexer::{Places, Token};
use crate::languages::names::evaluation as words;

impl Evaluator<'_> {
    pub(super) fn is_python(&self) -> bool {
        self.language == Language::Python
    }

    pub(super) fn is_ruby(&self) -> bool {
        self.language == Language::Ruby
    }

    pub(super) fn is_perl(&self) -> bool {
        self.language == Language::Perl
    }

    pub(super) fn is_php(&self) -> bool {
        self.language == Language::Php
    }

    pub(super) fn is_script(&self) -> bool {
        matches!(self.language, Language::Node | Language::Deno)
    }

    /// Whether line breaks end a statement of this language.
    pub(super) fn has_lines(&self) -> bool {
        !matches!(self.language, Language::Perl | Language::Php)
    }

    /// The token at a distance from the current place.
    pub(super) fn token(&self, ahead: usize) -> Option<&Token> {
        self.unit.tokens.get(self.at + ahead).filter(|_| self.at + ahead < self.end)
    }

    /// Skips line breaks without a meaning.
    pub(super) fn skip_breaks(&mut self) {
        if self.brackets > 0 || !self.has_lines() {
            self.skip_lines();
        }
    }

    pub(super) fn skip_lines(&mut self) {
        while self.token(0) == Some(&Token::Line) {
            self.at += 1;
        }
    }

    /// Skips what separates statements.
    pub(super) fn skip_separators(&mut self) {
        while matches!(self.token(0), Some(Token::Line | Token::Symbol(';'))) {
            self.at += 1;
        }
    }

    /// The index of the first token from an index on that is no line break.
    pub(super) fn after_lines(&self, from: usize) -> usize {
        let rest = self.unit.tokens.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|token| **token == Token::Line).count()
    }

    pub(super) fn is(&self, ahead: usize, symbol: char) -> bool {
        self.token(ahead).is_some_and(|token| token.is(symbol))
    }

    /// Whether these symbols stand here, one directly after the other.
    pub(super) fn are(&self, symbols: &str) -> bool {
        symbols.chars().enumerate().all(|(ahead, symbol)| self.is(ahead, symbol))
    }

    /// Skips a symbol, if it stands here.
    pub(super) fn take(&mut self, symbol: char) -> bool {
        let stands = self.is(0, symbol);
        self.at += usize::from(stands);
        stands
    }

    /// The name at an index of all tokens.
    pub(super) fn name_at(&self, at: usize) -> Option<&str> {
        self.unit.tokens.name_at(at)
    }

    /// Whether a symbol is at an index of all tokens.
    pub(super) fn is_at(&self, at: usize, symbol: char) -> bool {
        self.unit.tokens.is_at(at, symbol)
    }

    pub(super) fn name(&self, ahead: usize) -> Option<String> {
        self.token(ahead).and_then(Token::name).map(str::to_owned)
    }

    pub(super) fn is_name(&self, ahead: usize, name: &str) -> bool {
        self.token(ahead).and_then(Token::name) == Some(name)
    }

    /// Skips a name, if it stands here.
    pub(super) fn take_name(&mut self, name: &str) -> bool {
        let stands = self.is_name(0, name);
        self.at += usize::from(stands);
        stands
    }

    /// The index of the bracket that closes the one at an index, or the end.
    pub(super) fn closing(&self, open: usize) -> usize {
        self.unit.tokens.get(..self.end).and_then(|tokens| tokens.closing(open)).unwrap_or(self.end)
    }

    /// The first index from here on, outside brackets, at which a token fits, or a bracket closes that does not open here.
    pub(super) fn find(&self, from: usize, fits: impl Fn(&Token) -> bool) -> usize {
        let mut at = from;
        while let Some(token) = self.unit.tokens.get(at).filter(|_| at < self.end) {
            if fits(token) {
                return at;
            }
            match token {
                Token::Symbol('(' | '[' | '{') => at = self.closing(at) + 1,
                Token::Symbol(')' | ']' | '}') => return at,
                _ => at += 1,
            }
        }
        self.end
    }

    /// The end of the statement that begins at an index.
    pub(super) fn statement_end(&self, from: usize) -> usize {
        let lines = self.has_lines();
        self.find(from, |token| token.is(';') || (lines && *token == Token::Line))
    }

    /// Skips to an index. What is named on the way is unknown.
    pub(super) fn skip_to(&mut self, to: usize) {
        let to = to.min(self.end);
        if self.at < to {
            self.is_complete = false;
            let tokens = self.unit.tokens.get(self.at..to).unwrap_or_default();
            let names: Vec<String> = tokens.iter().filter_map(Token::name).map(str::to_owned).collect();
            for name in names {
                self.forget_name(&name);
            }
        }
        self.at = self.at.max(to);
    }

    /// Forgets the value of a name, unless it is a function or a module.
    pub(super) fn forget_name(&mut self, name: &str) {
        for scope in &mut self.scopes {
            for key in [name.to_owned(), format!("@{name}")] {
                if let Some(value) = scope.get_mut(&key).filter(|value| !value.is_callable()) {
                    *value = Value::unknown();
                }
            }
        }
    }

    /// Forgets the values of all names in a range.
    pub(super) fn forget_names(&mut self, from: usize, to: usize) {
        for name in self.names(from, to) {
            self.forget_name(&name);
        }
    }

    /// The column of a token in its line.
    pub(super) fn column(&self, at: usize) -> usize {
        let start = self.unit.starts.get(at).copied().unwrap_or_default();
        let before = self.unit.code.get(..start).unwrap_or_default();
        start - before.rfind('\n').map_or(0, |line| line + 1)
    }

    /// The code of the token here.
    pub(super) fn source(&self) -> &str {
        let start = |at: usize| self.unit.starts.get(at).copied().unwrap_or(self.unit.code.len());
        self.unit.code.get(start(self.at)..start(self.at + 1)).unwrap_or_default().trim()
    }

    /// Evaluates a range of tokens, and returns to the current place.
    pub(super) fn within<T>(&mut self, range: Range, run: impl FnOnce(&mut Self) -> T) -> T {
        let before = (self.at, self.end, self.brackets);
        (self.at, self.end, self.brackets) = (range.0, range.1, 0);
        let result = run(self);
        (self.at, self.end, self.brackets) = before;
        result
    }

    /// Evaluates a range in which line breaks have no meaning.
    pub(super) fn within_brackets<T>(&mut self, range: Range, run: impl FnOnce(&mut Self) -> T) -> T {
        self.within(range, |this| {
            this.brackets = 1;
            run(this)
        })
    }

    /// The range between the bracket here and the one that closes it; the place moves behind them.
    pub(super) fn bracket(&mut self) -> Range {
        let range = (self.at + 1, self.closing(self.at));
        self.at = (range.1 + 1).min(self.end);
        range
    }

    /// Evaluates what is between the brackets here, and moves behind them.
    pub(super) fn in_brackets<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let range = self.bracket();
        self.within_brackets(range, run)
    }

    /// Evaluates tokens of other code, such as that in a text.
    pub(super) fn within_unit<T>(
        &mut self,
        unit: Rc<Unit>,
        range: Range,
        run: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = std::mem::replace(&mut self.unit, unit);
        let result = self.within(range, run);
        self.unit = before;
        result
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
                let next = self.after_lines(at);
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
            return self.bracket();
        }
        let range = (self.at, self.single_end(self.at));
        self.at = range.1;
        range
    }

    /// The end of a statement without braces that may have a head: `if (x) for (…) y();`.
    pub(super) fn single_end(&self, from: usize) -> usize {
        if matches!(self.name_at(from), Some("if" | "for" | "while" | "foreach")) {
            let next = self.closing(from + 1) + 1;
            let end = if self.is_at(next, '{') { self.closing(next) + 1 } else { self.single_end(next) };
            return end.min(self.end);
        }
        self.statement_end(from)
    }

    /// The index of the `end` of Ruby that closes what is open at an index.
    pub(super) fn end_of_ruby(&self, from: usize) -> usize {
        let mut depth = 0_usize;
        for at in from..self.end {
            let before = self.unit.tokens.get(at.wrapping_sub(1));
            let starts = at == from
                || before.is_none_or(|token| {
                    matches!(token, Token::Line | Token::Symbol(';' | '=' | '(' | '{' | '|' | '['))
                })
                || matches!(before.and_then(Token::name), Some("then" | "do" | "else" | "begin"));
            match self.name_at(at) {
                Some("def" | "class" | "module" | "begin" | "case" | "do") => depth += 1,
                // `while x do` has one `end`.
                Some("if" | "unless" | "for" | "while" | "until") if starts => {
                    depth += 1;
                    let line = self.find(at + 1, |token| *token == Token::Line || token.is(';'));
                    let has_do = (at..line).any(|at| self.name_at(at) == Some("do"));
                    let is_loop = !matches!(self.name_at(at), Some("if" | "unless"));
                    depth -= usize::from(has_do && is_loop);
                }
                Some("end") if depth == 0 => return at,
                Some("end") => depth -= 1,
                _ => {}
            }
        }
        self.end
    }

    /// The names of variables in a range.
    pub(super) fn names(&self, from: usize, to: usize) -> Vec<String> {
        let tokens = self.unit.tokens.get(from..to.min(self.end)).unwrap_or_default();
        let names = tokens.iter().filter_map(Token::name);
        names.filter(|name| !words::DECLARING.has(name)).map(str::to_owned).collect()
    }

    /// Gives names the value, or each the element at its place.
    pub(super) fn bind_all(&mut self, names: &[String], value: &Value) {
        if let [name] = names {
            return self.bind(name, value.clone(), true);
        }
        let items = value.items().filter(|items| items.len() == names.len());
        for (at, name) in names.iter().enumerate() {
            let item = items.as_ref().and_then(|items| items.get(at)).cloned();
            self.bind(name, item.unwrap_or_default(), true);
        }
    }
}
