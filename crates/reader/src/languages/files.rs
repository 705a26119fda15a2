//! Files that code opens, and those of Python whose names it composes: which ones these are cannot be determined.

use std::collections::BTreeSet;

use super::lexer::{Places, Token};
use super::names::python;

/// Whether the file that is opened cannot be determined from the code: its name is computed, or comes from a folder that the
/// code lists. `argument` is what follows the opening bracket.
pub(super) fn opens_any<'a>(argument: impl Iterator<Item = &'a Token>, lists_folders: bool) -> bool {
    let ends = |token: &&Token| !token.is(')') && !token.is(',');
    let argument: Vec<&Token> = argument.take_while(ends).collect();
    match argument.as_slice() {
        [] | [Token::Value] => false,
        // What stands in braces is computed.
        [Token::Text(path)] => path.raw.contains(['{', '\u{1}', '\\']) && !is_of_kernel(&path.raw),
        [Token::Name(_)] => lists_folders,
        [Token::Text(path), ..] => !is_of_kernel(&path.raw),
        // `sys.argv[1]` is a word of the command.
        [Token::Name(_), Token::Symbol('.'), Token::Name(list), rest @ ..] => match list.as_str() {
            "argv" => !matches!(rest, [Token::Symbol('['), Token::Value, Token::Symbol(']')]),
            "stdin" => !(rest.is_empty() || rest.get(1).is_some_and(|token| token.name() == Some("fileno"))),
            _ => true,
        },
        _ => true,
    }
}

/// Whether a path is that of a file about processes and devices.
fn is_of_kernel(path: &str) -> bool {
    ["/proc/", "/sys/"].iter().any(|folder| path.starts_with(folder))
}

/// Whether code opens a file whose name, or a part of it, is composed of other texts.
pub(super) fn opens_composed(tokens: &[Token]) -> bool {
    let opens = |name: &str| matches!(name, "read_bytes" | "read_text") || python::READING_FILES.has(name);
    if !tokens.iter().filter_map(Token::name).any(opens) {
        return false;
    }
    let composed = Composed::of(tokens);
    (0..tokens.len()).any(|at| match tokens.get(at) {
        Some(Token::Name(name)) if name == "glob" && tokens.is_at(at.wrapping_sub(1), '.') => {
            lists_any(tokens, at)
        }
        Some(Token::Name(name)) if python::READING_FILES.has(name) || python::NAMING.has(name) => {
            // `map(Path, names)`.
            let is_value = !tokens.is_at(at + 1, '(') && tokens.is_at(at.wrapping_sub(1), '(');
            let arguments = arguments(tokens, if is_value { at.wrapping_sub(1) } else { at + 1 });
            let named =
                if python::NAMING.has(name) || is_value { arguments.get(..) } else { arguments.get(..1) };
            named.unwrap_or_default().iter().any(|part| composed.has(part))
        }
        Some(Token::Symbol('/')) if tokens.is_at(at + 1, '=') => composed.has(line(tokens, at + 2)),
        Some(Token::Symbol('/')) => match tokens.get(at + 1) {
            Some(Token::Text(text)) => {
                let is_operated = ['+', '%', '[', '.'].iter().any(|sign| tokens.is_at(at + 2, *sign));
                is_operated || is_computed(&text.raw)
            }
            Some(Token::Symbol('(')) => arguments(tokens, at + 1).iter().any(|part| composed.has(part)),
            Some(Token::Name(name)) => composed.names.contains(name),
            _ => false,
        },
        _ => false,
    })
}

/// Whether a text has parts that are computed, or signs for others.
fn is_computed(raw: &str) -> bool {
    raw.contains(['{', '\u{1}', '\\'])
}

/// Whether a path lists files of any name: `folder.glob("sh*")`. Of `Path("/etc").glob("sh*")` the rules see the names.
fn lists_any(tokens: &[Token], at: usize) -> bool {
    let Some(Token::Text(pattern)) = tokens.get(at + 2).filter(|_| tokens.is_at(at + 3, ')')) else {
        let in_other = arguments(tokens, at + 1).iter().any(|part| part.name_at(0) == Some("root_dir"));
        return !is_module(tokens, at) || in_other;
    };
    let is_module = is_module(tokens, at);
    let is_plain = tokens.literal_at(at.wrapping_sub(3)).is_some()
        && tokens.is_at(at.wrapping_sub(4), '(')
        && tokens.name_at(at.wrapping_sub(5)) == Some("Path");
    let last = pattern.raw.rsplit('/').next().unwrap_or_default();
    let has_ending = last.strip_prefix("*.").is_some_and(|ending| ending.chars().all(char::is_alphanumeric));
    !(is_module || is_plain || has_ending || !pattern.raw.contains(['*', '?', '[']))
}

fn is_module(tokens: &[Token], at: usize) -> bool {
    tokens.name_at(at.wrapping_sub(2)) == Some("glob")
}

/// The tokens from an index up to the end of the statement, or of the head of a block.
fn line(tokens: &[Token], from: usize) -> &[Token] {
    let rest = tokens.get(from..).unwrap_or_default();
    let mut depth = 0;
    let end = rest.iter().position(|token| {
        depth += token.nesting();
        depth < 0 || depth == 0 && matches!(token, Token::Line | Token::Symbol(';' | ':'))
    });
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

/// The arguments between the bracket at an index and the one that closes it; without names.
fn arguments(tokens: &[Token], open: usize) -> Vec<&[Token]> {
    let close = Some(open).filter(|open| tokens.is_at(*open, '(')).and_then(|open| tokens.closing(open));
    let Some(inside) = close.and_then(|close| tokens.get(open + 1..close)) else { return vec![] };
    let mut depth = 0;
    let parts = inside.split(|token| {
        depth += token.nesting();
        depth == 0 && token.is(',')
    });
    parts
        .map(|part| {
            if part.is_at(1, '=') && part.name_at(0) != Some("root_dir") {
                part.get(2..).unwrap_or_default()
            } else {
                part
            }
        })
        .collect()
}

/// Names of texts that code composes.
struct Composed {
    names: BTreeSet<String>,
    texts: BTreeSet<String>,
}

impl Composed {
    fn of(tokens: &[Token]) -> Self {
        let mut found = Self { names: BTreeSet::new(), texts: BTreeSet::new() };
        // A name may be that of another one.
        for _ in 0..3 {
            for at in 0..tokens.len() {
                found.bind(tokens, at);
            }
        }
        found
    }

    /// Reads the binding at an index: `name = …`, `for name in …`, `function(…)`.
    fn bind(&mut self, tokens: &[Token], at: usize) {
        let Some(name) = tokens.name_at(at) else { return };
        if name == "for" {
            let own = tokens.get(at + 1..).unwrap_or_default();
            let own = own.iter().take(16).take_while(|token| token.name() != Some("in"));
            let names: Vec<&str> = own.clone().filter_map(Token::name).collect();
            let value = line(tokens, at + 2 + own.count());
            for name in names {
                self.add(name, value);
            }
        } else if tokens.is_at(at + 1, '=') && !tokens.is_at(at + 2, '=') {
            self.add(name, line(tokens, at + 2));
            if tokens.name_at(at + 2) == Some("lambda") && self.is_given_composed(tokens, name) {
                let parameters = line(tokens, at + 3).iter().filter_map(Token::name).map(str::to_owned);
                self.names.extend(parameters);
            }
        } else if tokens.is_at(at + 1, '+') && tokens.is_at(at + 2, '=') {
            self.names.insert(name.to_owned());
        } else if tokens.name_at(at.wrapping_sub(1)) == Some("def") && self.is_given_composed(tokens, name) {
            let parameters = arguments(tokens, at + 1);
            let parameters = parameters.iter().filter_map(|part| part.iter().find_map(Token::name));
            self.names.extend(parameters.map(str::to_owned));
        }
    }

    /// Whether a function of the code is called with a text that is composed.
    fn is_given_composed(&self, tokens: &[Token], name: &str) -> bool {
        (0..tokens.len()).any(|at| {
            tokens.name_at(at) == Some(name)
                && tokens.name_at(at.wrapping_sub(1)) != Some("def")
                && arguments(tokens, at + 1).iter().any(|part| self.has(part))
        })
    }

    fn add(&mut self, name: &str, value: &[Token]) {
        if self.has(value) {
            self.names.insert(name.to_owned());
        }
        if value.iter().any(|token| self.is_text(token)) {
            self.texts.insert(name.to_owned());
        }
    }

    fn is_text(&self, token: &Token) -> bool {
        matches!(token, Token::Text(_)) || token.name().is_some_and(|name| self.texts.contains(name))
    }

    /// Whether an expression composes a text, or names one that is composed.
    fn has(&self, value: &[Token]) -> bool {
        let operates = value.iter().enumerate().any(|(at, token)| match token {
            Token::Symbol('+' | '%' | '*') => true,
            Token::Text(text) => {
                is_computed(&text.raw) && !is_of_kernel(&text.raw)
                    || value.is_at(at + 1, '[')
                    || matches!(value.get(at + 1), Some(Token::Text(_)))
            }
            Token::Name(name) => python::COMPOSING.has(name) && value.is_at(at + 1, '('),
            _ => false,
        });
        operates && value.iter().any(|token| self.is_text(token))
            || value.iter().filter_map(Token::name).any(|name| self.names.contains(name))
    }
}
