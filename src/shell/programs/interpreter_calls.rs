//! Finds the calls in code of other languages that start a program or a shell.

use crate::catalogue::program::Language;

/// Function names that start a program or a shell, without their module path.
pub(super) const CALLS: &[&str] = &[
    "system",
    "popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "Popen",
    "getoutput",
    "getstatusoutput",
    "exec",
    "execSync",
    "spawn",
    "spawnSync",
    "execFile",
    "execFileSync",
    "shell_exec",
    "passthru",
    "proc_open",
    "execute",
    "execl",
    "execlp",
    "execv",
    "execvp",
    "execve",
    "execvpe",
    "spawnlp",
    "spawnvp",
    "spawnl",
    "spawnv",
    "posix_spawn",
    "posix_spawnp",
    "execle",
    "execlpe",
    "spawnle",
    "spawnlpe",
    "spawnve",
    "spawnvpe",
    "execaCommand",
    "execa",
    "shell_output",
    "run_command",
    "capture2",
    "capture2e",
    "capture3",
    "popen2",
    "popen3",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "fork_exec",
    "pcntl_exec",
    "exec_command",
    "spawn_command",
];
/// Ambiguous function names, with the objects or modules on which they start a program.
const OWNERS: &[(&str, &[&str])] = &[
    ("run", &["subprocess", "sp", "invoke", "c", "ctx", "asyncio"]),
    ("call", &["subprocess", "sp"]),
    ("execute", &["os"]),
    ("spawn", &["pty", "child_process", "cp", "process", "Process", "Bun", "pexpect"]),
];

/// A piece of a string in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Literal text.
    Known(String),
    /// An expression, as written.
    Unknown(String),
}

/// What a call starts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// A shell script.
    Script(Vec<Part>),
    /// A program and its arguments.
    Words(Vec<Vec<Part>>),
    /// A command that is built elsewhere in the code.
    Unclear,
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

/// The calls that start a program or a shell.
pub(super) fn find_calls(tokens: &[Token], language: Language) -> Vec<Call> {
    let mut calls = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Shell(parts) => calls.push(Call::Script(parts.clone())),
            Token::Name(name) if CALLS.contains(&name.as_str()) && starts_something(tokens, at, name) => {
                let parens = tokens.get(at + 1) == Some(&Token::Symbol('('));
                // perl, ruby and lua call without brackets, lua with one text only.
                let bare = matches!(language, Language::Perl | Language::Ruby)
                    && matches!(tokens.get(at + 1), Some(Token::Text(_) | Token::Symbol('$' | '@')));
                if let (Some(Token::Text(parts)), Language::Lua) = (tokens.get(at + 1), language) {
                    calls.push(Call::Script(parts.clone()));
                } else if parens || bare {
                    let from = if parens { at + 2 } else { at + 1 };
                    // The later arguments are a mode or a place for the output.
                    let script_first = matches!(language, Language::Php | Language::Lua) || name == "popen";
                    calls.push(arguments(tokens, from, parens, script_first));
                }
            }
            // awk: `command | getline`, `print … | command`.
            Token::Name(name) if language == Language::Awk && name != "getline" => {
                let gets = matches!(tokens.get(at + 2), Some(Token::Name(next)) if next == "getline");
                let piped = is_piped(tokens, at) && prints(tokens, at);
                if piped || (gets && tokens.get(at + 1) == Some(&Token::Symbol('|'))) {
                    calls.push(Call::Unclear);
                }
            }
            // awk: `"command" | getline`, `print … | "sh"`.
            Token::Text(parts) if language == Language::Awk => {
                let after = (tokens.get(at + 1), tokens.get(at + 2));
                if matches!(after, (Some(Token::Symbol('|')), Some(Token::Name(n))) if n == "getline") {
                    calls.push(Call::Script(parts.clone()));
                } else if is_piped(tokens, at) && !is_filter(parts) {
                    calls.push(Call::Unclear);
                }
            }
            _ => {}
        }
    }
    calls
}

/// Whether a token of awk follows a pipe, which `||` is not.
fn is_piped(tokens: &[Token], at: usize) -> bool {
    let is_bar =
        |before: usize| at.checked_sub(before).and_then(|i| tokens.get(i)) == Some(&Token::Symbol('|'));
    is_bar(1) && !is_bar(2)
}

/// Whether a statement of awk prints before this token; otherwise, a bar is part of a pattern.
fn prints(tokens: &[Token], at: usize) -> bool {
    let before = tokens.get(..at).unwrap_or_default().iter().rev();
    let mut statement = before.take_while(|token| !matches!(token, Token::Symbol('{' | '}' | ';' | '/')));
    statement.any(|token| matches!(token, Token::Name(name) if matches!(name.as_str(), "print" | "printf")))
}

/// Whether a command behind a pipe of awk only sorts, counts or shows what it is given.
fn is_filter(parts: &[Part]) -> bool {
    const FILTERS: [&str; 10] = ["sort", "uniq", "head", "tail", "cat", "wc", "column", "tac", "tr", "cut"];
    let [Part::Known(command)] = parts else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || " -,.".contains(c);
    command.split(' ').next().is_some_and(|name| FILTERS.contains(&name)) && command.chars().all(plain)
}

/// A format string, with its placeholders as unknown parts.
fn formatted(part: Part) -> Vec<Part> {
    match part {
        Part::Known(text) => text_parts(&text, Interpolation::Formats),
        unknown @ Part::Unknown(_) => vec![unknown],
    }
}

/// True when the function `name` at `at` starts a program; false for other methods of that name, such as
/// `app.run()`.
fn starts_something(tokens: &[Token], at: usize, name: &str) -> bool {
    let Some((_, owners)) = OWNERS.iter().find(|(call, _)| *call == name) else {
        // `re.exec(text)` in JavaScript matches a pattern; `child_process.exec` does not.
        let owner = at.checked_sub(2).and_then(|i| tokens.get(i));
        let dotted = at.checked_sub(1).and_then(|i| tokens.get(i)) == Some(&Token::Symbol('.'));
        return !(name == "exec"
            && dotted
            && matches!(owner, Some(Token::Name(o)) if o.starts_with("re") && !o.starts_with("req")));
    };
    let dotted = at.checked_sub(1).and_then(|i| tokens.get(i)) == Some(&Token::Symbol('.'));
    let owner = at.checked_sub(2).and_then(|i| tokens.get(i));
    match owner {
        _ if !dotted => true,
        Some(Token::Name(owner)) => owners.contains(&owner.as_str()),
        // `require('child_process').spawn(…)`.
        Some(Token::Symbol(')')) => true,
        _ => false,
    }
}

/// What a call whose arguments start at `from` starts.
fn arguments(tokens: &[Token], from: usize, parens: bool, script_first: bool) -> Call {
    let mut depth = 0_i32;
    let mut words: Vec<Vec<Part>> = Vec::new();
    let mut word: Vec<Part> = Vec::new();
    let mut list = false;
    let mut list_done = false;
    let mut keyword = false;
    let mut joined = false;
    let mut formats = false;
    for token in tokens.get(from..).unwrap_or_default() {
        match token {
            Token::Symbol(')' | ']' | '}')
                if depth == 0 && (parens || !matches!(token, Token::Symbol(')'))) =>
            {
                break;
            }
            Token::Symbol(';' | '\n') if !parens => break,
            Token::Symbol('[') if depth == 0 && !list_done => {
                list = true;
                depth += 1;
            }
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(']') if list && depth == 1 => {
                depth -= 1;
                list_done = true;
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            Token::Symbol(')' | ']' | '}') => depth -= 1,
            Token::Symbol(',') if depth == i32::from(list && !list_done) => {
                if !word.is_empty() && !keyword {
                    words.push(std::mem::take(&mut word));
                }
                word.clear();
                keyword = false;
            }
            Token::Symbol('=' | ':') if depth == 0 => keyword = true,
            // Keyword arguments and option objects are not part of the command.
            _ if list_done || keyword => {}
            Token::Text(parts) | Token::Shell(parts) => {
                word.extend(parts.iter().cloned());
                joined = true;
            }
            Token::Name(name) if matches!(name.as_str(), "format" | "sprintf") => formats = true,
            Token::Symbol('%') => formats = true,
            Token::Name(name) if matches!(name.as_str(), "split" | "shlex" | "join" | "quote") => {}
            Token::Name(name) => {
                if depth == i32::from(list) && !matches!(name.as_str(), "b" | "r" | "u") {
                    word.push(Part::Unknown(name.clone()));
                }
            }
            Token::Symbol(_) => {}
        }
    }
    if !word.is_empty() && !keyword {
        words.push(word);
    }
    if formats {
        for word in &mut words {
            *word = word.drain(..).flat_map(formatted).collect();
        }
    }
    let any_known = words.iter().flatten().any(|part| matches!(part, Part::Known(_)));
    if !any_known || !joined {
        return Call::Unclear;
    }
    if script_first && !list {
        words.truncate(1);
    }
    match words.len() {
        0 => Call::Unclear,
        1 if !list => words.pop().map_or(Call::Unclear, Call::Script),
        _ => {
            // `execlp("docker", "docker", …)` names the program twice.
            if let [first, second, ..] = words.as_slice()
                && first == second
            {
                words.remove(0);
            }
            Call::Words(words)
        }
    }
}

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
enum Interpolation {
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

fn text_parts(text: &str, interpolation: Interpolation) -> Vec<Part> {
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
