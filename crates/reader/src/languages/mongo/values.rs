//! What code does with methods and names as values. Only literal forms are read: a method is called where it stands, a function is
//! written where it is passed, and a command states its name.

use std::collections::BTreeSet;

use crate::languages::names::mongo;

/// Whether a character may be a part of a name.
pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// A part of code without the content of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    /// A text, with its letters and digits only.
    Text(&'a str),
    Sign(char),
}

impl<'a> Token<'a> {
    fn word(self) -> Option<&'a str> {
        match self {
            Self::Name(word) | Self::Text(word) => Some(word),
            Self::Sign(_) => None,
        }
    }
}

/// The tokens of code, with access by position.
struct Tokens<'a>(Vec<Token<'a>>);

impl<'a> Tokens<'a> {
    fn of(plain: &'a str) -> Self {
        let mut tokens = Vec::new();
        for (at, part) in plain.split('"').enumerate() {
            if at % 2 == 1 {
                tokens.push(Token::Text(part));
                continue;
            }
            let mut rest = part;
            while let Some(c) = rest.chars().next() {
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                let (token, after) = rest.split_at(if end > 0 { end } else { c.len_utf8() });
                if end > 0 {
                    tokens.push(Token::Name(token));
                } else if !c.is_whitespace() {
                    tokens.push(Token::Sign(c));
                }
                rest = after;
            }
        }
        Self(tokens)
    }

    fn at(&self, at: usize) -> Option<Token<'a>> {
        self.0.get(at).copied()
    }

    fn before(&self, at: usize) -> Option<Token<'a>> {
        at.checked_sub(1).and_then(|at| self.at(at))
    }

    fn is(&self, at: usize, sign: char) -> bool {
        self.at(at) == Some(Token::Sign(sign))
    }

    fn follows(&self, at: usize, sign: char) -> bool {
        self.before(at) == Some(Token::Sign(sign))
    }

    fn positions(&self) -> std::ops::Range<usize> {
        0..self.0.len()
    }

    /// The position of the bracket that closes the one at `open`.
    fn end_of(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.0.len() {
            match self.at(at) {
                Some(Token::Sign('(' | '[' | '{')) => depth += 1,
                Some(Token::Sign(')' | ']' | '}')) => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The position of the bracket that the one at `close` closes.
    fn start_of(&self, close: usize) -> Option<usize> {
        (0..close).rev().find(|open| {
            matches!(self.at(*open), Some(Token::Sign('(' | '[' | '{'))) && self.end_of(*open) == Some(close)
        })
    }

    /// Where the arguments of the call begin whose bracket is at `open`, and where it ends.
    fn arguments(&self, open: usize) -> Option<(Vec<usize>, usize)> {
        let end = self.end_of(open)?;
        let mut starts = vec![open + 1];
        let mut at = open + 1;
        while at < end {
            match self.at(at) {
                Some(Token::Sign('(' | '[' | '{')) => at = self.end_of(at)?,
                Some(Token::Sign(',')) => starts.push(at + 1),
                _ => {}
            }
            at += 1;
        }
        Some((starts, end))
    }

    /// Whether an assignment stands at a position.
    fn assigns(&self, at: usize) -> bool {
        self.is(at, '=') && !self.is(at + 1, '=') && !self.is(at + 1, '>')
    }

    /// Whether a call of a member with one of these names begins at a position: `.find(`.
    fn calls_member(&self, at: usize, is_one: impl Fn(&str) -> bool) -> bool {
        matches!(self.at(at), Some(Token::Name(name)) if is_one(name))
            && self.follows(at, '.')
            && self.is(at + 1, '(')
    }
}

/// Whether code uses methods, names and functions only in literal forms.
pub(super) fn are_literal(code: &str, plain: &str) -> bool {
    // Methods are compared in lower case, and this one is not `function`.
    if code.split(|c| !is_name(c)).any(|word| word == "Function") {
        return false;
    }
    let tokens = Tokens::of(plain);
    let all = tokens.positions();
    all.clone().all(|at| {
        is_bound(&tokens, at)
            && sends_literally(&tokens, at)
            && receives_literally(&tokens, at)
            && !takes_apart(&tokens, at)
    }) && !calls_replaced(&tokens)
        && names_are_literal(&tokens)
}

/// Whether code prints only collections whose names are stated, and none with accounts.
pub(super) fn prints_stated(plain: &str) -> bool {
    let tokens = Tokens::of(plain);
    let of_accounts = |at: usize| {
        let Some(word) = tokens.at(at).and_then(Token::word) else { return false };
        let mut next = tokens.0.iter().skip(at + 1).filter_map(|token| token.word());
        let next = next.find(|word| !matches!(*word, "getcollection" | "getsiblingdb"));
        mongo::ACCOUNTS.iter().any(|name| {
            let part = name.strip_prefix("system").unwrap_or(name);
            word.contains(name) || word.ends_with("system") && next == Some(part)
        })
    };
    let is_stated = |at: usize| match tokens.at(at) {
        Some(Token::Name(key) | Token::Text(key)) if mongo::NAMING.has(key) && tokens.is(at + 1, ':') => {
            match tokens.at(at + 2) {
                Some(Token::Text(_)) => tokens.is(at + 3, ',') || tokens.is(at + 3, '}'),
                Some(Token::Name(word)) => word.starts_with(|c: char| c.is_ascii_digit()),
                Some(Token::Sign('[' | '{' | '-')) => true,
                _ => false,
            }
        }
        Some(Token::Name("getcollection")) => match tokens.end_of(at + 1) {
            Some(end) if end == at + 3 && matches!(tokens.at(at + 2), Some(Token::Text(_))) => true,
            Some(end) => tokens.is(end + 1, '.') && !is_printing(&tokens, end + 2),
            None => false,
        },
        Some(Token::Sign('[')) => match computed(&tokens, at) {
            Some(end) if tokens.is(end + 1, '.') => !is_printing(&tokens, end + 2),
            Some(end) => !tokens.is(end + 1, '['),
            None => true,
        },
        _ => true,
    };
    tokens.positions().all(|at| !of_accounts(at) && is_stated(at))
}

fn is_printing(tokens: &Tokens<'_>, at: usize) -> bool {
    matches!(tokens.at(at), Some(Token::Name(name)) if mongo::PRINTING.has(name))
}

/// The end of the member that stands at a bracket, if its name is computed: `db[name]`.
fn computed(tokens: &Tokens<'_>, open: usize) -> Option<usize> {
    let is_member = match tokens.before(open)? {
        Token::Name(name) => !mongo::GLOBALS.has(name) || matches!(name, "db" | "rs" | "sh"),
        Token::Sign(')' | ']') => true,
        _ => false,
    };
    let end = tokens.end_of(open).filter(|_| is_member)?;
    let is_literal = end == open + 2
        && match tokens.at(open + 1)? {
            Token::Text(_) => true,
            Token::Name(name) => name.starts_with(|c: char| c.is_ascii_digit()),
            Token::Sign(_) => false,
        };
    (!is_literal).then_some(end)
}

/// Whether no name stands here that is another thing wherever it is used, and no method that does more than read without its call.
fn is_bound(tokens: &Tokens<'_>, at: usize) -> bool {
    let calls = || tokens.follows(at, '.') && tokens.is(at + 1, '(');
    match tokens.at(at) {
        Some(Token::Name(name)) if mongo::SENDERS.has(name) => calls(),
        Some(Token::Name(name)) if mongo::CHANGING_METHODS.has(name) => !tokens.follows(at, '.') || calls(),
        Some(Token::Name(name)) => !mongo::UNBOUND.has(name) || tokens.follows(at, '.'),
        Some(Token::Text(text)) => {
            let is_member =
                || tokens.follows(at, '[') && tokens.is(at + 1, ']') && is_of_object(tokens, at - 1);
            !(mongo::SENDERS.has(text) || mongo::CHANGING_METHODS.has(text) && is_member())
        }
        _ => true,
    }
}

fn is_of_object(tokens: &Tokens<'_>, open: usize) -> bool {
    matches!(tokens.before(open), Some(Token::Name(_) | Token::Sign(')' | ']')))
}

/// Whether a command that is sent here states its name: `{ping: 1}`, `"ping"`, and nothing that is computed from it.
fn sends_literally(tokens: &Tokens<'_>, at: usize) -> bool {
    if !tokens.calls_member(at, |name| mongo::SENDERS.has(name)) {
        return true;
    }
    let ends = |at: usize| tokens.is(at, ')') || tokens.is(at, ',');
    match tokens.at(at + 2) {
        Some(Token::Text(_)) => ends(at + 3),
        Some(Token::Sign('{')) => {
            tokens.at(at + 3).and_then(Token::word).is_some()
                && tokens.is(at + 4, ':')
                && tokens.end_of(at + 2).is_some_and(|end| ends(end + 1))
        }
        _ => false,
    }
}

/// Whether what calls a function gets one that is written here, if it states with which object.
fn receives_literally(tokens: &Tokens<'_>, at: usize) -> bool {
    if !tokens.calls_member(at, |name| mongo::RECEIVING.has(name)) {
        return true;
    }
    let Some((starts, end)) = tokens.arguments(at + 1) else { return false };
    let [first, second, ..] = starts.as_slice() else { return true };
    let is_object = |at: usize| tokens.is(at, '{') || tokens.is(at, '[');
    let is_function = tokens.at(*first) == Some(Token::Name("function"))
        || (*first..*second).any(|at| tokens.is(at, '=') && tokens.is(at + 1, '>'));
    is_function || is_object(*first) || is_object(*second) || *second >= end
}

/// Whether names are bound here to members of an object: `({drop: find}) => …`, `const {drop: find} = …`.
fn takes_apart(tokens: &Tokens<'_>, at: usize) -> bool {
    let has_key = |from: usize, end: usize| {
        (from..end).any(|at| tokens.is(at, '{')) && (from..end).any(|at| tokens.is(at, ':'))
    };
    let is_arrow = tokens.is(at, '=') && tokens.is(at + 1, '>');
    if is_arrow && tokens.follows(at, ')') {
        return tokens.start_of(at - 1).is_none_or(|open| has_key(open, at));
    }
    if tokens.at(at) == Some(Token::Name("function")) {
        let open = if tokens.is(at + 1, '(') { at + 1 } else { at + 2 };
        return tokens.end_of(open).is_none_or(|end| has_key(open, end));
    }
    tokens.is(at, '}') && (tokens.assigns(at + 1) || tokens.at(at + 1) == Some(Token::Name("of")))
}

/// Whether code gives the name of a method another meaning and calls it alone.
fn calls_replaced(tokens: &Tokens<'_>) -> bool {
    let is_method = |name: &str| {
        mongo::READING.has(name) || mongo::SENDERS.has(name) || mongo::CHANGING_METHODS.has(name)
    };
    let assigned: BTreeSet<&str> = tokens
        .positions()
        .filter(|at| !tokens.follows(*at, '.') && tokens.is(at + 1, '='))
        .filter(|at| tokens.assigns(at + 1) || tokens.is(at + 2, '>'))
        .filter_map(|at| tokens.at(at).and_then(Token::word))
        .filter(|name| is_method(name))
        .collect();
    tokens.positions().any(|at| {
        matches!(tokens.at(at), Some(Token::Name(name)) if assigned.contains(name))
            && !tokens.follows(at, '.')
            && tokens.is(at + 1, '(')
    })
}

/// Whether a member whose name is computed is no method that is called as another one.
fn names_are_literal(tokens: &Tokens<'_>) -> bool {
    let values: Vec<usize> = tokens
        .positions()
        .filter(|at| tokens.is(*at, '['))
        .filter(|at| computed(tokens, *at).is_some_and(|end| !tokens.is(end + 1, '.')))
        .collect();
    let is_of_database = |open: &usize| match tokens.before(*open) {
        Some(Token::Name(name)) => mongo::GLOBALS.has(name),
        Some(Token::Sign(')')) => {
            let called = tokens.start_of(open - 1).and_then(|at| tokens.before(at)).and_then(Token::word);
            called.is_some_and(|name| mongo::OBJECTS.has(name))
        }
        _ => false,
    };
    let replaces = |at: usize| {
        let is_method = |name: &str| mongo::READING.has(name) || mongo::SENDERS.has(name);
        let assigns = matches!(tokens.at(at), Some(Token::Name(name)) if is_method(name))
            && tokens.follows(at, '.')
            && tokens.assigns(at + 1);
        let spreads = tokens.is(at, '.')
            && tokens.is(at + 1, '.')
            && tokens.is(at + 2, '.')
            && !tokens.follows(at, '[')
            && !tokens.follows(at, '(');
        let prints_local = tokens.calls_member(at, |name| mongo::PRINTING.has(name))
            && at.checked_sub(2).is_some_and(|local| {
                matches!(tokens.at(local), Some(Token::Name(name)) if name != "db")
                    && !tokens.follows(local, '.')
            });
        assigns || spreads || prints_local
    };
    values.is_empty() || !values.iter().any(is_of_database) && !tokens.positions().any(replaces)
}
