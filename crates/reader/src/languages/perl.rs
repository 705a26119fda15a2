//! One line of Perl that only computes and prints.

use super::lexer::{Places, Token, clear_tokens};
use super::literal::{self, Constants};
use super::names::perl;
use crate::catalogue::program::Language;

/// Whether code only computes and prints. With `starts`, it may start commands, which are judged apart.
pub fn is_harmless(code: &str, starts: bool) -> bool {
    let Some(tokens) = clear_tokens(code, Language::Perl) else { return false };
    let tokens: Vec<Token> = tokens.into_iter().filter(|token| *token != Token::Line).collect();
    let tokens = without_modules(&tokens);
    let own = tokens.windows(2).filter_map(|pair| match pair {
        // The language's own functions remain what they are.
        [Token::Name(word), Token::Name(name)] if word == "sub" && !perl::BUILTINS.has(name) => {
            Some(name.as_str())
        }
        _ => None,
    });
    let own = own.collect();
    // The programs that start later get another environment.
    let is_start = |token: &Token| {
        matches!(token, Token::Shell(_)) || token.name().is_some_and(|name| perl::STARTING.has(name))
    };
    if tokens.iter().any(|token| token.name() == Some("ENV")) && tokens.iter().any(is_start) {
        return false;
    }
    let is_named = |at: usize| tokens.name_at(at).is_some_and(|name| perl::STARTING.has(name));
    let known = if starts { Constants::of(&tokens, Language::Perl, is_named) } else { Constants::none() };
    let mut reader =
        Reader { tokens: &tokens, starts, own, known, variables: vec![], open: vec![], closed_lookup: false };
    (0..tokens.len()).all(|at| reader.is_fine(at))
}

/// Whether a method of a class that only computes is called at an index: `Time::Piece->`.
fn class_at(tokens: &[Token], at: usize) -> bool {
    let (Some(first), Some(last)) = (tokens.name_at(at), tokens.name_at(at.wrapping_add(3))) else {
        return false;
    };
    let is = |place: usize, symbol| tokens.is_at(at.wrapping_add(place), symbol);
    is(1, ':') && is(2, ':') && is(4, '-') && is(5, '>') && perl::CLASSES.has(&format!("{first}::{last}"))
}

/// The tokens without statements that load known modules: `use List::Util qw(sum);`.
fn without_modules(tokens: &[Token]) -> Vec<Token> {
    let mut left = Vec::new();
    for statement in tokens.split_inclusive(|token| token.is(';')) {
        let words = statement.strip_suffix(&[Token::Symbol(';')]).unwrap_or(statement);
        let name_end = words.iter().position(|token| matches!(token, Token::Symbol('(') | Token::Text(_)));
        let (name, imports) = words.split_at(name_end.unwrap_or(words.len()));
        let name: Option<String> =
            name.iter().skip(1).map(|token| if token.is(':') { Some(":") } else { token.name() }).collect();
        let is_plain =
            imports.iter().all(|token| matches!(token, Token::Symbol('(' | ')' | ',') | Token::Text(_)));
        // A module may replace functions that the code defined before.
        let is_first = !left.iter().any(|token: &Token| token.name() == Some("sub"));
        if !(is_first
            && words.name_at(0) == Some("use")
            && is_plain
            && name.is_some_and(|name| perl::MODULES.has(&name)))
        {
            left.extend_from_slice(statement);
        }
    }
    left
}

/// Reads the tokens of code one after the other.
struct Reader<'a> {
    tokens: &'a [Token],
    /// All commands that the code starts are determined.
    starts: bool,
    /// Names with constant values.
    known: Constants,
    /// Functions that the code defines.
    own: Vec<&'a str>,
    /// For each token that was read, whether it is the name of a variable.
    variables: Vec<bool>,
    /// For each open brace, whether it looks up a key: `$h{name}`.
    open: Vec<bool>,
    /// Whether the last closed brace did.
    closed_lookup: bool,
}

impl<'a> Reader<'a> {
    fn before(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at.wrapping_sub(1))
    }

    /// Whether the token at an index is the name of a variable.
    fn is_variable(&self, at: usize) -> bool {
        self.variables.get(at).copied().unwrap_or_default()
    }

    /// Whether a value may begin at an index.
    fn expects_value(&self, at: usize) -> bool {
        match self.before(at) {
            Some(Token::Name(_)) => !self.is_variable(at - 1),
            Some(Token::Text(_) | Token::Value | Token::Symbol(')' | ']')) => false,
            _ => true,
        }
    }

    fn is_fine(&mut self, at: usize) -> bool {
        let tokens: &'a [Token] = self.tokens;
        let Some(token) = tokens.get(at) else { return true };
        let is_variable = matches!(token, Token::Name(_))
            && match self.before(at) {
                Some(Token::Symbol('$' | '@' | '#')) => true,
                Some(Token::Symbol('%')) => self.expects_value(at - 1),
                _ => false,
            };
        self.variables.push(is_variable);
        let is_next = |symbol: char| tokens.is_at(at + 1, symbol);
        match token {
            Token::Shell(text) => self.starts && self.known.is_text(text),
            // `$x`, `@{$x}`; a deeper name is not known.
            Token::Symbol('$' | '@') => self.names_variable(at),
            Token::Symbol('%') if self.expects_value(at) => self.names_variable(at),
            Token::Symbol('&' | '*' | '<') => !self.expects_value(at),
            Token::Operator("<") => !self.expects_value(at) || tokens.is_at(at.wrapping_sub(1), '}'),
            Token::Symbol('-') if is_next('>') => {
                tokens.is_at(at + 2, '{')
                    || tokens.is_at(at + 2, '[')
                    || tokens.name_at(at + 2).is_some_and(|name| perl::METHODS.has(name))
            }
            Token::Symbol(':')
                if class_at(tokens, at.wrapping_sub(1)) || class_at(tokens, at.wrapping_sub(2)) =>
            {
                true
            }
            Token::Symbol(':') => !is_next(':'),
            Token::Symbol('{') => {
                let looks_up = match self.before(at) {
                    Some(Token::Name(_)) => self.is_variable(at - 1),
                    Some(Token::Symbol('}')) => self.closed_lookup,
                    Some(Token::Symbol(symbol)) => matches!(symbol, ']' | '>'),
                    _ => false,
                };
                self.open.push(looks_up);
                // `@{"ARGV"}` is a name.
                let is_sign = matches!(self.before(at), Some(Token::Symbol('$' | '@' | '%' | '#')));
                !is_sign || is_next('$') || is_next('[')
            }
            Token::Symbol('}') => {
                self.closed_lookup = self.open.pop().unwrap_or_default();
                true
            }
            Token::Name(_) if is_variable => true,
            Token::Name(name) => {
                let looks_up = self.open.last() == Some(&true) && tokens.is_at(at.wrapping_sub(1), '{');
                let is_key = looks_up && is_next('}') || is_next('=') && tokens.is_at(at + 2, '>');
                // `-e $x` tests a file.
                let tests = matches!(
                    name.as_str(),
                    "e" | "f" | "d" | "r" | "w" | "x" | "z" | "l" | "s" | "M" | "A" | "C"
                ) && tokens.is_at(at.wrapping_sub(1), '-')
                    && self.expects_value(at - 1);
                let is_own = name == "sub"
                    && tokens.name_at(at + 1).is_none_or(|name| !perl::BUILTINS.has(name))
                    || self.own.contains(&name.as_str());
                // `Time::Piece->strptime(…)`.
                let is_class = class_at(tokens, at) || class_at(tokens, at.wrapping_sub(3));
                let is_method = perl::METHODS.has(name)
                    && tokens.is_at(at.wrapping_sub(1), '>')
                    && tokens.is_at(at.wrapping_sub(2), '-');
                is_key
                    || tests
                    || is_class
                    || is_method
                    || is_own
                    || perl::WORDS.has(name)
                    || (self.starts && perl::STARTING.has(name) && literal::in_perl(tokens, at, &self.known))
            }
            _ => true,
        }
    }

    /// Whether a sign is followed by the name of a variable that is no list of files, or by an expression.
    fn names_variable(&self, at: usize) -> bool {
        match self.tokens.get(at + 1) {
            // Files that are read next may be commands.
            Some(Token::Name(name)) => {
                let in_package = self.tokens.is_at(at + 2, ':') && self.tokens.is_at(at + 3, ':');
                name != "ARGV" && !in_package
            }
            // `$#list`, `@{$x}`; a list may be named by a variable only where its length is taken.
            Some(Token::Symbol('#')) => {
                matches!(self.tokens.get(at + 2), Some(Token::Name(_) | Token::Symbol('{' | '$')))
            }
            Some(Token::Symbol('{')) => true,
            _ => false,
        }
    }
}
