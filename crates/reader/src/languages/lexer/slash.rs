//! A `/` of code, which divides or begins a pattern.

use super::{Lexer, Token};
use crate::catalogue::program::Language;
use crate::languages::names::{Names, awk, node, perl, ruby};
use crate::languages::sed::bracket;
use crate::languages::text::{Kind, delimited};

/// What a `/` is.
enum Slash {
    Divides,
    BeginsPattern,
    Unclear,
}

impl<'a> Lexer<'a> {
    /// A `/`, which divides or begins a pattern.
    pub(super) fn slash(&mut self, after: &'a str) -> Option<()> {
        let before_patterns = match self.language {
            Language::Awk => awk::BEFORE_PATTERNS,
            Language::Node | Language::Deno => node::BEFORE_PATTERNS,
            Language::Perl => perl::BEFORE_PATTERNS,
            Language::Ruby => ruby::BEFORE_PATTERNS,
            _ => return None,
        };
        let slash = match self.kind_of_slash(before_patterns) {
            Slash::Divides => return None,
            Slash::BeginsPattern if !self.may_search() => None,
            Slash::BeginsPattern => match self.language {
                Language::Perl => delimited(self.rest).and_then(|(body, rest)| {
                    self.code_of_perl(body, Kind::Pattern);
                    self.flags(rest, "gimsxoc")
                }),
                Language::Ruby => delimited(self.rest).and_then(|(body, rest)| {
                    if body.contains('#') {
                        self.doubt();
                    }
                    self.flags(rest, "imxounse")
                }),
                Language::Awk => after_pattern(after, true),
                _ => after_pattern(after, false)
                    .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphabetic())),
            },
            Slash::Unclear => None,
        };
        if slash.is_none() {
            self.doubt();
        }
        self.push(Token::Value, slash?)
    }

    fn kind_of_slash(&self, before_patterns: Names) -> Slash {
        let is_awk = self.language == Language::Awk;
        let before = |count: usize| self.tokens.iter().rev().filter(|one| **one != Token::Line).nth(count);
        match self.last() {
            Some(Token::Name(name)) if is_awk && name == "getline" => Slash::Unclear,
            Some(Token::Name(name)) => match before(1) {
                Some(Token::Symbol('$' | '@' | '%')) if self.language == Language::Perl => Slash::Divides,
                Some(Token::Symbol('.')) if self.is_script() => Slash::Divides,
                Some(Token::Symbol('.' | ':')) if self.language == Language::Ruby => Slash::Unclear,
                _ if before_patterns.has(name) => Slash::BeginsPattern,
                _ if self.language == Language::Perl => Slash::Unclear,
                // `puts /x/` is a pattern, `a / b` and `a/b` divide.
                _ if self.language == Language::Ruby => {
                    let code = self.code.get(..self.code.len() - self.rest.len()).unwrap_or_default();
                    let is_apart = code.ends_with(char::is_whitespace);
                    let begins = is_apart && !self.rest.starts_with("/ ");
                    if begins { Slash::Unclear } else { Slash::Divides }
                }
                _ => Slash::Divides,
            },
            // Behind the head of an `if` it may be either.
            Some(Token::Symbol(')')) if self.closed_head => Slash::Unclear,
            Some(Token::Symbol('}')) if !is_awk => Slash::Unclear,
            Some(Token::Symbol('$' | ':' | '.')) if self.language == Language::Ruby => Slash::Unclear,
            Some(Token::Symbol('$')) if is_awk => Slash::Divides,
            Some(
                Token::Symbol(')' | ']') | Token::Text(_) | Token::Shell(_) | Token::Field(_) | Token::Value,
            ) => Slash::Divides,
            Some(Token::Operator("++" | "--")) => match before(1) {
                Some(Token::Name(_) | Token::Value | Token::Field(_) | Token::Symbol(')' | ']')) => {
                    Slash::Divides
                }
                Some(Token::Symbol('}')) => Slash::Unclear,
                _ => Slash::BeginsPattern,
            },
            _ => Slash::BeginsPattern,
        }
    }
}

/// What follows a pattern whose opening `/` is gone. An awk that sees no bracket expression there finds it unclosed.
fn after_pattern(text: &str, is_awk: bool) -> Option<&str> {
    let mut rest = text;
    let mut in_class = false;
    loop {
        let c = rest.chars().next()?;
        let after = rest.get(c.len_utf8()..)?;
        rest = match c {
            '\\' => after.get(after.chars().next()?.len_utf8()..)?,
            '\n' => return None,
            '/' if !in_class => return Some(after),
            '[' if is_awk => bracket(after)?,
            '[' | ']' => {
                in_class = c == '[';
                after
            }
            _ => after,
        };
    }
}
