//! Cuts code of other languages into tokens.

use crate::catalogue::program::Language;

/// A piece of a string in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Literal text.
    Known(String),
    /// An expression, as written.
    Unknown(String),
}

/// A token of code, as far as it matters for calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Text(Vec<Part>),
    /// A string that the language runs in a shell: backquotes, `%x(…)`, `qx(…)`.
    Shell(Vec<Part>),
    Symbol(char),
}

/// The tokens of code in this language.
pub(super) fn tokens(code: &str, language: Language) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = code;
    let python = language == Language::Python;
    let script = matches!(language, Language::Node | Language::Deno);
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '#' if !script && language != Language::Lua => {
                rest = rest.get(rest.find('\n').unwrap_or(rest.len())..).unwrap_or_default();
            }
            '-' if language == Language::Lua && after.starts_with('-') && !after.starts_with("-[") => {
                rest = rest.get(rest.find('\n').unwrap_or(rest.len())..).unwrap_or_default();
            }
            '[' if language == Language::Lua && after.starts_with(['[', '=']) => {
                let (text, tail) = long_brackets(after);
                tokens.push(Token::Text(vec![Part::Known(text.to_owned())]));
                rest = tail;
            }
            '/' if script && after.starts_with('/') => {
                rest = rest.get(rest.find('\n').unwrap_or(rest.len())..).unwrap_or_default();
            }
            '"' | '\'' if rest.starts_with("\"\"\"") || rest.starts_with("'''") => {
                let quote = rest.get(..3).unwrap_or_default();
                let body = rest.get(3..).unwrap_or_default();
                let end = body.find(quote).unwrap_or(body.len());
                let text = body.get(..end).unwrap_or_default();
                tokens.push(text_token(text, interpolation(&tokens, c, language)));
                rest = body.get((end + 3).min(body.len())..).unwrap_or_default();
            }
            '"' | '\'' => {
                let (text, len) = quoted(after, c);
                let token = text_token(&text, interpolation(&tokens, c, language));
                if matches!(token, Token::Text(_))
                    && matches!(tokens.last(), Some(Token::Name(n)) if matches!(n.as_str(), "f" | "b" | "r" | "rb" | "u") && python)
                {
                    tokens.pop();
                }
                tokens.push(token);
                rest = after.get(len..).unwrap_or_default();
            }
            // awk: a field.
            '$' if language == Language::Awk && after.starts_with(|c: char| c.is_ascii_alphanumeric()) => {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
                let (field, tail) = after.split_at(end);
                tokens.push(Token::Text(vec![Part::Unknown(format!("${field}"))]));
                rest = tail;
            }
            '`' => {
                let (text, len) = quoted(after, c);
                let parts =
                    text_parts(&text, if script { Interpolation::Dollar } else { Interpolation::Hash });
                // `$`…`` of zx and Bun runs a command.
                let tagged = tokens.last() == Some(&Token::Symbol('$'));
                tokens.push(if (script && !tagged) || language == Language::Awk || python {
                    Token::Text(parts)
                } else {
                    Token::Shell(parts)
                });
                rest = after.get(len..).unwrap_or_default();
            }
            '%' if language == Language::Ruby
                && after.starts_with(['x', 'q', 'Q', 'w'])
                && after.chars().nth(1).is_some_and(|c| "({[<|!/".contains(c)) =>
            {
                let (body, tail) = own_quotes(after.get(1..).unwrap_or_default());
                match after.chars().next() {
                    Some('x') => tokens.push(Token::Shell(text_parts(body, Interpolation::Hash))),
                    Some('w') => {
                        tokens.push(Token::Symbol('['));
                        push_words(&mut tokens, body);
                        tokens.push(Token::Symbol(']'));
                    }
                    _ => tokens.push(text_token(body, Interpolation::Hash)),
                }
                rest = tail;
            }
            _ if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let (name, tail) = rest.split_at(end);
                if let Some(after) = named_quotes(&mut tokens, name, tail, language) {
                    rest = after;
                } else {
                    tokens.push(Token::Name(name.to_owned()));
                    rest = tail;
                }
            }
            _ => {
                if !c.is_whitespace() || c == '\n' {
                    tokens.push(Token::Symbol(c));
                }
                rest = after;
            }
        }
    }
    // Line breaks end calls only in languages that call without brackets.
    if !matches!(language, Language::Perl | Language::Ruby) {
        tokens.retain(|token| *token != Token::Symbol('\n'));
    }
    tokens
}

/// The text of Lua's `[[…]]` or `[=[…]=]`, which starts before `after`, and the rest of the code.
fn long_brackets(after: &str) -> (&str, &str) {
    let signs = after.find(|c| c != '=').unwrap_or(after.len());
    let Some(body) = after.get(signs..).and_then(|rest| rest.strip_prefix('[')) else { return ("", after) };
    let close = format!("]{}]", "=".repeat(signs));
    body.split_once(close.as_str()).unwrap_or((body, ""))
}

/// The text between freely chosen delimiters, such as those of `q(…)`, `%x{…}` and `qx/…/`, and the rest of
/// the code.
fn own_quotes(text: &str) -> (&str, &str) {
    let Some(open) = text.chars().next() else { return ("", "") };
    let close = match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other => other,
    };
    let body = text.get(open.len_utf8()..).unwrap_or_default();
    let mut depth = 0_usize;
    for (at, c) in body.char_indices() {
        if c == close && depth == 0 {
            return (
                body.get(..at).unwrap_or_default(),
                body.get(at + close.len_utf8()..).unwrap_or_default(),
            );
        }
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
        }
    }
    (body, "")
}

/// Adds the tokens of a quote operator of Perl and returns the rest of the code; `None` for other names.
fn named_quotes<'a>(
    tokens: &mut Vec<Token>,
    name: &str,
    tail: &'a str,
    language: Language,
) -> Option<&'a str> {
    let text = tail.trim_start();
    let first = text.chars().next()?;
    if language != Language::Perl || first.is_alphanumeric() || matches!(first, '=' | ',' | ';' | ')') {
        return None;
    }
    let (body, rest) = own_quotes(text);
    match name {
        "q" => tokens.push(Token::Text(vec![Part::Known(body.to_owned())])),
        "qq" => tokens.push(text_token(body, Interpolation::Hash)),
        "qx" => tokens.push(Token::Shell(text_parts(body, Interpolation::Hash))),
        "qw" => push_words(tokens, body),
        _ => return None,
    }
    Some(rest)
}

fn push_words(tokens: &mut Vec<Token>, body: &str) {
    for word in body.split_whitespace() {
        tokens.push(Token::Text(vec![Part::Known(word.to_owned())]));
        tokens.push(Token::Symbol(','));
    }
}

/// The text up to the closing quote with its escapes resolved, and its length in bytes as written.
fn quoted(text: &str, quote: char) -> (String, usize) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other)) if other != '\n' => value.push(other),
                _ => {}
            },
            _ if c == quote => return (value, at + c.len_utf8()),
            _ => value.push(c),
        }
    }
    (value, text.len())
}

/// How a string interpolates values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Interpolation {
    Nothing,
    /// `%s` and `{}`, for a formatter.
    Formats,
    /// `{name}`.
    Braces,
    /// `#{name}`, and `$name` in Perl.
    Hash,
    /// `${name}`.
    Dollar,
}

fn interpolation(tokens: &[Token], quote: char, language: Language) -> Interpolation {
    if language == Language::Python {
        return match tokens.last() {
            Some(Token::Name(prefix)) if matches!(prefix.as_str(), "f" | "rf" | "fr" | "F") => {
                Interpolation::Braces
            }
            _ => Interpolation::Nothing,
        };
    }
    match language {
        Language::Perl | Language::Ruby | Language::Php if quote == '"' => Interpolation::Hash,
        _ => Interpolation::Nothing,
    }
}

fn text_token(text: &str, interpolation: Interpolation) -> Token {
    Token::Text(text_parts(text, interpolation))
}

pub(super) fn text_parts(text: &str, interpolation: Interpolation) -> Vec<Part> {
    let opens: &[&str] = match interpolation {
        Interpolation::Nothing => &[],
        Interpolation::Formats => &["%s", "%d", "{}"],
        Interpolation::Braces => &["{"],
        Interpolation::Hash => &["#{", "$"],
        Interpolation::Dollar => &["${"],
    };
    let mut parts = Vec::new();
    let mut rest = text;
    // One search for all of them: separate searches would take quadratic time.
    let first = |rest: &str| {
        rest.char_indices().filter(|(_, c)| matches!(c, '%' | '{' | '#' | '$')).find_map(|(at, _)| {
            let here = rest.get(at..).unwrap_or_default();
            opens.iter().find(|open| here.starts_with(**open)).map(|open| (at, *open))
        })
    };
    while let Some((at, open)) = first(rest) {
        if at > 0 {
            parts.push(Part::Known(rest.get(..at).unwrap_or_default().to_owned()));
        }
        let inside = rest.get(at..).unwrap_or_default();
        let len = if open == "{}" {
            2
        } else if open.ends_with('{') {
            inside.find('}').map_or(inside.len(), |end| end + 1)
        } else if open == "$" {
            1 + inside
                .get(1..)
                .and_then(|name| name.find(|c: char| !(c.is_alphanumeric() || c == '_')))
                .unwrap_or(inside.len() - 1)
        } else {
            open.len()
        };
        parts.push(Part::Unknown(inside.get(..len).unwrap_or_default().to_owned()));
        rest = inside.get(len..).unwrap_or_default();
    }
    if !rest.is_empty() || parts.is_empty() {
        parts.push(Part::Known(rest.to_owned()));
    }
    parts
}
