//! Words, texts and symbols of Python and JavaScript.

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A name or a keyword.
    Name(String),
    /// A text, without what is computed in it.
    Text(String),
    /// A number or a pattern.
    Value,
    /// Any other character.
    Symbol(char),
    /// The end of a line.
    Line,
}

impl Token {
    /// The name, if it is one.
    pub fn name(&self) -> Option<&str> {
        if let Self::Name(name) = self { Some(name) } else { None }
    }

    /// Whether it is this symbol.
    pub fn is(&self, symbol: char) -> bool {
        *self == Self::Symbol(symbol)
    }
}

/// Whether the file that is opened cannot be determined from the code: its name is computed, or comes from a folder that the
/// code lists. `argument` is what follows the opening bracket.
pub fn opens_any<'a>(argument: impl Iterator<Item = &'a Token>, lists_folders: bool) -> bool {
    let ends = |token: &&Token| !token.is(')') && !token.is(',');
    let argument: Vec<&Token> = argument.take_while(ends).collect();
    match argument.as_slice() {
        [] | [Token::Value] => false,
        // What stands in braces is computed.
        [Token::Text(path)] => path.contains(['{', '\u{1}']) && !is_of_kernel(path),
        [Token::Name(_)] => lists_folders,
        [Token::Text(path), ..] => !is_of_kernel(path),
        // `sys.argv[1]` is a word of the command.
        [Token::Name(_), Token::Symbol('.'), Token::Name(list), ..] => list != "argv" && list != "stdin",
        _ => true,
    }
}

/// Whether a path is that of a file about processes and devices.
fn is_of_kernel(path: &str) -> bool {
    ["/proc/", "/sys/"].iter().any(|folder| path.starts_with(folder))
}

/// The differences between the two languages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Python.
    Python,
    /// JavaScript.
    Script,
}

/// The tokens of code; what is computed within texts follows them. `None` where it is not understood.
pub fn tokens(code: &str, kind: Kind) -> Option<Vec<Token>> {
    let (mut tokens, mut inner) = (Vec::new(), Vec::new());
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..)?;
        rest = match c {
            '\n' => {
                tokens.push(Token::Line);
                after
            }
            _ if c.is_whitespace() => after,
            '\\' if after.starts_with('\n') => after.get(1..)?,
            '#' if kind == Kind::Python => after.get(after.find('\n').unwrap_or(after.len())..)?,
            '/' if kind == Kind::Script && after.starts_with('/') => {
                after.get(after.find('\n').unwrap_or(after.len())..)?
            }
            '/' if kind == Kind::Script && after.starts_with('*') => after.get(after.find("*/")? + 2..)?,
            '/' if kind == Kind::Script && !ends_value(tokens.last()) => {
                tokens.push(Token::Value);
                pattern(after)?
            }
            '"' | '\'' | '`' => {
                let prefix = match tokens.last() {
                    Some(Token::Name(name))
                        if kind == Kind::Python && is_prefix(name) && touches(code, rest) =>
                    {
                        let name = name.to_ascii_lowercase();
                        tokens.pop();
                        name
                    }
                    _ => String::new(),
                };
                if c == '`' && kind == Kind::Python {
                    return None;
                }
                let computes = c == '`' || prefix.contains('f');
                let (text, tail) = text(rest, c, kind, &prefix)?;
                if computes {
                    computed(&text, kind, &mut inner)?;
                }
                tokens.push(Token::Text(text));
                tail
            }
            _ if c.is_ascii_digit() => {
                tokens.push(Token::Value);
                rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_')
            }
            _ if is_name(c) => {
                let tail = rest.trim_start_matches(is_name);
                tokens.push(Token::Name(rest.get(..rest.len() - tail.len())?.to_owned()));
                tail
            }
            _ => {
                tokens.push(Token::Symbol(c));
                after
            }
        };
    }
    tokens.push(Token::Line);
    tokens.extend(inner);
    Some(tokens)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Whether what comes before the rest of the code touches it.
fn touches(code: &str, rest: &str) -> bool {
    code.get(..code.len() - rest.len()).is_some_and(|before| before.ends_with(|c: char| c.is_alphabetic()))
}

fn is_prefix(name: &str) -> bool {
    name.len() <= 2 && name.chars().all(|c| "rbfuRBFU".contains(c))
}

/// Whether a `/` behind this token divides.
fn ends_value(token: Option<&Token>) -> bool {
    match token {
        Some(Token::Name(name)) => !matches!(
            name.as_str(),
            "return"
                | "typeof"
                | "case"
                | "in"
                | "of"
                | "delete"
                | "void"
                | "throw"
                | "new"
                | "else"
                | "do"
                | "instanceof"
                | "await"
                | "yield"
        ),
        Some(Token::Text(_) | Token::Value) => true,
        Some(Token::Symbol(symbol)) => matches!(symbol, ')' | ']' | '}'),
        _ => false,
    }
}

/// What follows a pattern whose first `/` is gone.
fn pattern(text: &str) -> Option<&str> {
    let mut bracket = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\n' => return None,
            '[' => bracket = true,
            ']' => bracket = false,
            '/' if !bracket => {
                return Some(text.get(at + 1..)?.trim_start_matches(|c: char| c.is_ascii_alphabetic()));
            }
            _ => {}
        }
    }
    None
}

/// A text that begins with its quote, and what follows it.
fn text<'a>(rest: &'a str, quote: char, kind: Kind, prefix: &str) -> Option<(String, &'a str)> {
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let is_triple = kind == Kind::Python && rest.starts_with(&triple);
    let end = if is_triple { triple } else { quote.to_string() };
    let body = rest.get(end.len()..)?;
    let mut at = 0;
    loop {
        let here = body.get(at..)?;
        let c = here.chars().next()?;
        if here.starts_with(&end) {
            let text = body.get(..at)?;
            // What an escape stands for is not looked at, but in a name it could hide one.
            let plain = prefix.contains('r') || !text.contains('\\');
            let text =
                if plain { text.to_owned() } else { text.replace("\\x", "\u{1}").replace("\\u", "\u{1}") };
            return Some((text, here.get(end.len()..)?));
        }
        if c == '\n' && !is_triple && quote != '`' {
            return None;
        }
        at += c.len_utf8();
        if c == '\\' {
            at += body.get(at..)?.chars().next()?.len_utf8();
        }
    }
}

/// Adds the tokens of what is computed within a text: `{…}` in Python, `${…}` in JavaScript.
fn computed(text: &str, kind: Kind, into: &mut Vec<Token>) -> Option<()> {
    let open = if kind == Kind::Python { "{" } else { "${" };
    let text = if kind == Kind::Python { text.replace("{{", "").replace("}}", "") } else { text.to_owned() };
    let mut rest = text.as_str();
    while let Some(at) = rest.find(open) {
        let body = rest.get(at + open.len()..)?;
        let mut depth = 1;
        let end = body.char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            (depth == 0).then_some(at)
        })?;
        into.extend(tokens(body.get(..end)?, kind)?);
        rest = body.get(end + 1..)?;
    }
    Some(())
}
