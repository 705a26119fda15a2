//! Where code names variables, and where it changes them.

use crate::languages::lexer::{Places, Token};
use crate::languages::names::{evaluation as words, perl};
use crate::languages::text::Part;

/// A place at which code names a variable.
#[derive(Debug)]
pub(super) struct Mention {
    pub name: String,
    /// The index of the token of the name, or of the text that holds it.
    pub at: usize,
    pub is_change: bool,
}

/// The tokens of a piece of code with their brackets.
pub(super) struct Scan<'a> {
    pub tokens: &'a [Token],
    code: &'a str,
    starts: &'a [usize],
    /// For each opening bracket the one that closes it, and the other way round.
    pair: Vec<Option<usize>>,
    /// For each token, the innermost bracket around it.
    around: Vec<Option<usize>>,
}

impl<'a> Scan<'a> {
    pub fn of(code: &'a str, tokens: &'a [Token], starts: &'a [usize]) -> Self {
        let mut pair = vec![None; tokens.len()];
        let mut around = vec![None; tokens.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if token.nesting() < 0
                && let Some(from) = open.pop()
            {
                pair.get_mut(from).into_iter().for_each(|pair| *pair = Some(at));
                pair.get_mut(at).into_iter().for_each(|pair| *pair = Some(from));
            }
            around.get_mut(at).into_iter().for_each(|around| *around = open.last().copied());
            if token.nesting() > 0 {
                open.push(at);
            }
        }
        Self { tokens, code, starts, pair, around }
    }

    pub fn is(&self, at: usize, symbol: char) -> bool {
        self.tokens.is_at(at, symbol)
    }

    pub fn name(&self, at: usize) -> Option<&'a str> {
        self.tokens.name_at(at)
    }

    /// The other bracket of a pair.
    pub fn pair(&self, at: usize) -> Option<usize> {
        self.pair.get(at).copied().flatten()
    }

    /// The innermost opening bracket around a token.
    pub fn around(&self, at: usize) -> Option<usize> {
        self.around.get(at).copied().flatten()
    }

    /// The brackets around a token, from the innermost one on.
    pub fn all_around(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.around(at), |open| self.around(*open)).take(64)
    }

    /// The range of the innermost block around a token; that of all code where there is none.
    pub fn block(&self, at: usize) -> (usize, usize) {
        let open = self.all_around(at).find(|open| self.is(*open, '{'));
        open.map_or((0, self.tokens.len()), |open| (open, self.pair(open).unwrap_or(self.tokens.len())))
    }

    /// The end of the statement that holds a token.
    pub fn statement_end(&self, at: usize) -> usize {
        let limit = self.around(at).and_then(|open| self.pair(open)).unwrap_or(self.tokens.len());
        let own = self.around(at);
        (at..limit).find(|at| self.is(*at, ';') && self.around(*at) == own).unwrap_or(limit)
    }

    /// The beginning of the statement that holds a token.
    pub fn statement_start(&self, at: usize) -> usize {
        let own = self.around(at);
        let first = own.map_or(0, |open| open + 1);
        let ends = |at: &usize| (self.is(*at, ';') || self.is(*at, '}')) && self.around(*at) == own;
        (first..at).rev().find(ends).map_or(first, |at| at + 1)
    }

    /// The code of a token.
    pub fn source(&self, at: usize) -> &'a str {
        let start = |at: usize| self.starts.get(at).copied().unwrap_or(self.code.len());
        self.code.get(start(at)..start(at + 1)).unwrap_or_default().trim()
    }

    /// Whether a token is a pattern that changes a text: `s/a/b/`, `tr/a/b/`.
    pub fn substitutes(&self, at: usize) -> bool {
        match self.tokens.get(at) {
            Some(Token::Value) => self.source(at).starts_with(['s', 't', 'y']),
            Some(Token::Name(name)) => {
                matches!(name.as_str(), "s" | "tr" | "y") && !self.is_sign(at.wrapping_sub(1))
            }
            _ => false,
        }
    }

    /// Whether a sign of a variable stands at an index.
    pub fn is_sign(&self, at: usize) -> bool {
        matches!(self.tokens.get(at), Some(Token::Symbol('$' | '@' | '%' | '#')))
    }

    /// The index behind the elements and fields that follow an index.
    pub fn after_elements(&self, from: usize) -> usize {
        let mut at = from;
        loop {
            let arrow = if self.is(at, '-') && self.is(at + 1, '>') { 2 } else { 0 };
            let is_field = arrow > 0 && self.name(at + 2).is_some();
            let close = Some(at + arrow)
                .filter(|at| self.is(*at, '[') || self.is(*at, '{'))
                .and_then(|at| self.pair(at));
            at = match close {
                Some(close) => close + 1,
                None if is_field => at + 3,
                None => return at,
            };
        }
    }

    /// Whether an assignment stands at an index: `=`, and no comparison.
    pub fn assigns(&self, at: usize) -> bool {
        self.is(at, '=') && !['=', '~', '>'].iter().any(|symbol| self.is(at + 1, *symbol))
    }

    /// Whether what ends before an index is changed there.
    pub fn changes_before(&self, at: usize) -> bool {
        if self.assigns(at) {
            return true;
        }
        match self.tokens.get(at) {
            Some(Token::Symbol('=')) => self.is(at + 1, '~') && self.substitutes(at + 2),
            Some(Token::Operator("++" | "--")) => true,
            Some(Token::Operator("<")) => false,
            Some(Token::Operator(_)) => self.is(at + 1, '='),
            Some(Token::Symbol(symbol)) if "+-*/.%|&^?".contains(*symbol) => {
                self.is(at + 1, '=') || self.is(at + 1, *symbol) && self.is(at + 2, '=')
            }
            Some(Token::Symbol('<')) => self.is(at + 1, '<') && self.is(at + 2, '='),
            Some(Token::Name(name)) => name == "x" && self.assigns(at + 1),
            _ => false,
        }
    }

    /// Whether the variable whose name is at an index is changed there.
    pub fn is_change(&self, at: usize) -> bool {
        let after = self.after_elements(at + 1);
        // The sign, or the two of `$#x`.
        let mut first = at;
        while self.is_sign(first.wrapping_sub(1)) {
            first -= 1;
        }
        let before = |count: usize| self.tokens.get(first.wrapping_sub(count));
        let changes = |token: Option<&Token>| {
            token
                .and_then(Token::name)
                .is_some_and(|name| perl::CHANGING.has(name) || perl::GROWING.has(name))
        };
        let in_list = self.all_around(at).take(4).any(|open| {
            (self.is(open, '(') || self.is(open, '['))
                && self.pair(open).is_some_and(|close| self.assigns(close + 1))
        });
        self.changes_before(after)
            || matches!(before(1), Some(Token::Operator("++" | "--")))
            || changes(before(1))
            || before(1).is_some_and(|token| token.is('(')) && changes(before(2))
            || before(1).and_then(Token::name).is_some_and(|name| words::DECLARING.has(name))
                && changes(before(2))
            || in_list
    }

    /// The variables that code names.
    pub fn mentions(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            match token {
                Token::Name(name) if self.is_sign(at.wrapping_sub(1)) => {
                    found.push(Mention { name: name.clone(), at, is_change: self.is_change(at) });
                }
                Token::Text(text) | Token::Shell(text) => {
                    for part in text.parts.iter().filter(|part| part.known().is_none()) {
                        found.extend(names_in(part).map(|name| Mention { name, at, is_change: false }));
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// The names in an expression of a text.
fn names_in(part: &Part) -> impl Iterator<Item = String> {
    let words = part.source().split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty()).map(str::to_owned)
}
