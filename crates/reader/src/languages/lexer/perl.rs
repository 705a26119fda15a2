//! Variables and quote operators of Perl.

use super::{Lexer, Token};
use crate::catalogue::program::Language;
use crate::languages::names::perl;
use crate::languages::text::{Escapes, Interpolation, Kind, Text, closing, delimited};

/// Characters that a variable of Perl may have as its name.
const VARIABLES: &str = ".,/\\;&!@\"|+]";
/// Variables that state the version, the system, the start and the program of Perl. Others with a caret switch it.
const CARETS: [&str; 4] = ["^V", "^O", "^T", "^X"];

impl<'a> Lexer<'a> {
    /// A variable: its sign, and its name where that is a number or a character.
    pub(super) fn variable(&mut self, c: char, after: &'a str) -> Option<()> {
        let special = after.chars().next().filter(|next| {
            let is_process = *next == '$'
                && !after.get(1..).is_some_and(|after| {
                    after.starts_with(|c: char| c.is_alphanumeric() || "_{$:".contains(c))
                });
            c == '$' && (is_process || VARIABLES.contains(*next))
        });
        let caret = CARETS.iter().find(|name| {
            let rest = after.strip_prefix(**name).filter(|_| c == '$');
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "_[{".contains(c)))
        });
        self.tokens.push(Token::Symbol(c));
        self.rest = after;
        if let Some(name) = caret {
            return self.push(Token::Name((*name).to_owned()), after.get(name.len()..)?);
        }
        match special {
            Some(name) => self.push(Token::Name(name.to_string()), after.get(1..)?),
            None if after.starts_with(|c: char| c.is_ascii_digit()) => {
                let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
                let number = after.get(..after.len() - rest.len())?;
                self.push(Token::Name(number.to_owned()), rest)
            }
            // `$#list`.
            None if after.starts_with('#') => self.push(Token::Symbol('#'), after.get(1..)?),
            None => Some(()),
        }
    }

    /// A quote operator of Perl: `q(…)`, `m{…}`, `s/…/…/`; `None` for other names, and where it runs code.
    pub(super) fn quote_of_perl(&mut self, name: &str, tail: &'a str) -> Option<()> {
        let bodies = match name {
            "q" | "qq" | "qw" | "qx" | "m" | "qr" => 1,
            "s" | "tr" | "y" => 2,
            _ => return None,
        };
        let text = tail.trim_start();
        let first = text.chars().next()?;
        let direct = text.len() == tail.len();
        let is_variable = matches!(self.tokens.last(), Some(Token::Symbol('$' | '@' | '%' | '>')));
        // `-s "/x"` is the size of a file.
        let mut last = self.tokens.iter().rev();
        let is_test = name == "s"
            && last.next().is_some_and(|token| token.is('-'))
            && match last.next() {
                Some(Token::Name(name)) => perl::BEFORE_PATTERNS.has(name),
                Some(token) => matches!(token, Token::Symbol('(' | ',' | ';' | '=' | '{')),
                None => true,
            };
        if is_test
            || is_variable
            || first.is_alphanumeric()
            || "_=;)}$@%".contains(first)
            || (!direct && first == '#')
        {
            return None;
        }
        if !(direct && "/{|!,#~([<".contains(first)) {
            self.doubt();
            if first == ',' {
                return None;
            }
        }
        let one = delimited(text);
        if one.is_none() {
            self.doubt();
        }
        let (body, mut rest) = one.unwrap_or((text.get(first.len_utf8()..)?, ""));
        let known = match name {
            "m" | "qr" => "gimsxoc",
            "s" => "gimsxor",
            "tr" | "y" => "cdsr",
            _ => "",
        };
        match name {
            "qq" | "qx" => self.code_of_perl(body, Kind::Text),
            "m" | "qr" | "s" => self.code_of_perl(body, Kind::Pattern),
            _ => {}
        }
        if bodies == 2 {
            // With brackets, the second body has its own.
            let from = text.len() - rest.len();
            let second = if closing(first) == first {
                text.get(from - first.len_utf8()..)
            } else {
                Some(rest.trim_start()).filter(|rest| rest.starts_with(first))
            };
            let Some((second, after)) = second.and_then(delimited) else {
                self.doubt();
                return None;
            };
            if name == "s" {
                self.code_of_perl(second, Kind::Text);
            }
            rest = after;
        }
        let plain = Escapes::Delimiters(first, closing(first));
        let interpolated = || Text::of(body, Interpolation::Perl, Escapes::Of(Language::Perl, first));
        match name {
            "q" => self.text(Text::of(body, Interpolation::Nothing, plain), rest),
            "qq" => self.text(interpolated(), rest),
            // The shell gets what stands between `'` as it is.
            "qx" if first == '\'' => {
                self.push(Token::Shell(Text::of(body, Interpolation::Nothing, Escapes::None)), rest)
            }
            "qx" => self.push(Token::Shell(interpolated()), rest),
            "qw" => {
                self.tokens.push(Token::Symbol('('));
                self.words(body, plain);
                self.tokens.push(Token::Symbol(')'));
                self.rest = rest;
                Some(())
            }
            _ => {
                let rest = self.flags(rest, known)?;
                self.push(Token::Value, rest)
            }
        }
    }

    /// What follows the flags of a pattern of Perl; `None` where one of them runs code.
    pub(super) fn flags(&mut self, text: &'a str, known: &str) -> Option<&'a str> {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let flags = text.get(..text.len() - rest.len())?;
        // `… /x/if …` is a word behind the pattern.
        let words = ["if", "and", "or", "unless", "x"];
        if flags.chars().all(|c| known.contains(c)) || words.contains(&flags) {
            return Some(rest);
        }
        self.doubt();
        None
    }

    /// Whether a value of Perl may begin here.
    pub(super) fn expects_value(&self) -> bool {
        let mut tokens = self.tokens.iter().rev().filter(|token| **token != Token::Line);
        match tokens.next() {
            Some(Token::Name(_)) => !matches!(tokens.next(), Some(Token::Symbol('$' | '@' | '%'))),
            Some(Token::Text(_) | Token::Value | Token::Symbol(')' | ']')) => false,
            _ => true,
        }
    }
}
