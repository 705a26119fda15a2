//! Code in other languages: the commands that it hands to a shell or starts.

use super::evaluate::Evaluator;
use super::script::Construct;
use super::simple::Invocation;
use super::state::Shell;
use super::text::{Field, Origin};

/// True for the programs whose code is looked through.
pub(crate) fn is_interpreter(program: &str) -> bool {
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        stem,
        "python"
            | "pypy"
            | "perl"
            | "ruby"
            | "node"
            | "nodejs"
            | "deno"
            | "bun"
            | "awk"
            | "gawk"
            | "mawk"
            | "php"
            | "lua"
    )
}

/// Names of calls that start a program or a shell, without what stands before the last dot.
const CALLS: &[&str] = &[
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
    "capture2",
    "capture2e",
    "capture3",
    "popen2",
    "popen3",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "fork_exec",
    "exec_command",
    "spawn_command",
];
/// Calls whose name says little: they count only after these.
const OWNERS: &[(&str, &[&str])] = &[
    ("run", &["subprocess", "sp", "invoke", "c", "ctx", "asyncio"]),
    ("call", &["subprocess", "sp"]),
    ("execute", &["os"]),
    ("spawn", &["pty", "child_process", "cp", "process", "Process", "Bun", "pexpect"]),
];

pub(crate) fn run(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    program: &str,
) -> String {
    let awk = program.ends_with("awk");
    let (code, loops) = code_of(invocation, awk, program);
    let printed = super::output::of(
        evaluator,
        shell,
        &Invocation { fields: invocation.fields.clone(), ..invocation.with(Vec::new()) },
        program,
    );
    let code = match code {
        Some(Code::Text(text)) => text,
        Some(Code::Stdin) => match &invocation.stdin {
            Some(text) => text.clone(),
            None => {
                evaluator.leaf(shell, invocation);
                return printed;
            }
        },
        None => {
            evaluator.leaf(shell, invocation);
            return printed;
        }
    };
    evaluator.spend(code.len() / 64);
    let calls = find_calls(&code, program);
    if calls.is_empty() {
        evaluator.leaf(shell, invocation);
        return printed;
    }
    let mut inner = shell.clone().child().through(program);
    inner.stdin = None;
    inner.repeats |= loops;
    let code_loops = code.contains("for ")
        || code.contains("while ")
        || code.contains(".each")
        || code.contains("forEach");
    let mut command = evaluator.finished(shell, invocation);
    command.through = format!("{program} code");
    let ((), nodes) = evaluator.apart(|this| {
        for call in calls.into_iter().take(256) {
            if this.exhausted() {
                break;
            }
            let mut inner = inner.clone();
            match call {
                Call::Script(parts) => {
                    let (text, whole) = this.assemble(&parts);
                    inner.repeats |= !whole && code_loops;
                    this.run_text(&mut inner, &text);
                }
                Call::Words(words) => {
                    let mut fields = Vec::new();
                    for parts in &words {
                        let (text, whole) = this.assemble(parts);
                        inner.repeats |= !whole && code_loops;
                        fields.push(Field { text, origin: Origin::Literal });
                    }
                    let one = Invocation { fields, redirections: Vec::new(), stdin: None };
                    this.run_program(&inner, &one);
                }
                Call::Unclear => {
                    this.complain(format!("what the {program} code runs is not known"));
                    this.unread(&inner, &code);
                }
            }
        }
    });
    evaluator.push(super::script::Node::Group(Construct::Through(Box::new(command)), nodes));
    printed
}

enum Code {
    Text(String),
    Stdin,
}

/// The code that a command line holds, and whether it runs for each line of input.
fn code_of(invocation: &Invocation, awk: bool, program: &str) -> (Option<Code>, bool) {
    let mut at = 1;
    while let Some(word) = invocation.word(at) {
        at += 1;
        if word == "-" {
            return (Some(Code::Stdin), false);
        }
        if word == "--" {
            continue;
        }
        let Some(letters) = word.strip_prefix('-') else {
            // awk's first word is its program; elsewhere it is a file, or `deno eval`.
            if awk {
                return (Some(Code::Text(word.to_owned())), !word.contains("BEGIN"));
            }
            if matches!(word, "eval" | "repl") && matches!(program, "deno" | "bun") {
                continue;
            }
            if program == "deno" || program == "bun" {
                return (Some(Code::Text(word.to_owned())), false);
            }
            return (None, false);
        };
        let next = || invocation.word(at).map(|text| Code::Text(text.to_owned()));
        if awk {
            at += usize::from(matches!(letters, "F" | "v" | "f"));
            if letters == "f" {
                return (None, false);
            }
            continue;
        }
        match letters {
            "-eval" | "-print" => return (next(), false),
            "m" => return (None, false),
            "W" | "X" | "I" | "r" if program != "php" => at += 1,
            _ if letters.starts_with('-') => {}
            _ => {
                let flag = letters.find(if program.starts_with("py") {
                    &['c'][..]
                } else {
                    &['e', 'E', 'r', 'p'][..]
                });
                let loops = letters.contains(['n', 'p']) && !program.starts_with("node");
                if let Some(flag) = flag {
                    let after = letters.get(flag + 1..).unwrap_or_default();
                    // `-pe code`, `-ecode`.
                    if after.is_empty() || after.chars().all(|c| c.is_ascii_alphabetic()) && after.len() < 3 {
                        return (next(), loops);
                    }
                    return (Some(Code::Text(after.to_owned())), loops);
                }
            }
        }
    }
    (Some(Code::Stdin).filter(|_| !awk), false)
}

/// A piece of a text in code.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Known(String),
    /// Not known, as written.
    Unknown(String),
}

#[derive(Debug, PartialEq, Eq)]
enum Call {
    Script(Vec<Part>),
    Words(Vec<Vec<Part>>),
    Unclear,
}

impl Evaluator {
    fn assemble(&mut self, parts: &[Part]) -> (String, bool) {
        let mut whole = true;
        let text = parts
            .iter()
            .map(|part| match part {
                Part::Known(text) => text.clone(),
                Part::Unknown(source) => {
                    whole = false;
                    self.unknowns.plain(source.trim().to_owned())
                }
            })
            .collect();
        (text, whole)
    }
}

/// A token of code, as far as calls need it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(Vec<Part>),
    /// A text that the language hands to a shell: backquotes, `%x(…)`, `qx(…)`.
    Shell(Vec<Part>),
    Sign(char),
}

fn find_calls(code: &str, program: &str) -> Vec<Call> {
    let tokens = tokens(code, program);
    let mut calls = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Shell(parts) => calls.push(Call::Script(parts.clone())),
            Token::Name(name) if CALLS.contains(&name.as_str()) && starts_something(&tokens, at, name) => {
                let parens = tokens.get(at + 1) == Some(&Token::Sign('('));
                // perl and ruby call without brackets.
                let bare =
                    matches!(program, "perl" | "ruby") && matches!(tokens.get(at + 1), Some(Token::Text(_)));
                if parens || bare {
                    let from = if parens { at + 2 } else { at + 1 };
                    calls.push(arguments(&tokens, from, parens));
                }
            }
            // awk: `"command" | getline`, `print … | "sh"`.
            Token::Text(parts) if program.ends_with("awk") => {
                let before = at.checked_sub(1).and_then(|i| tokens.get(i));
                let after = (tokens.get(at + 1), tokens.get(at + 2));
                if matches!(after, (Some(Token::Sign('|')), Some(Token::Name(n))) if n == "getline") {
                    calls.push(Call::Script(parts.clone()));
                } else if before == Some(&Token::Sign('|')) {
                    calls.push(Call::Unclear);
                }
            }
            _ => {}
        }
    }
    calls
}

/// False for methods of the same name on other things, such as `app.run()`.
fn starts_something(tokens: &[Token], at: usize, name: &str) -> bool {
    let Some((_, owners)) = OWNERS.iter().find(|(call, _)| *call == name) else {
        // `re.exec(text)` in JavaScript matches a pattern; `child_process.exec` does not.
        let owner = at.checked_sub(2).and_then(|i| tokens.get(i));
        let dotted = at.checked_sub(1).and_then(|i| tokens.get(i)) == Some(&Token::Sign('.'));
        return !(name == "exec"
            && dotted
            && matches!(owner, Some(Token::Name(o)) if o.starts_with("re") && !o.starts_with("req")));
    };
    let dotted = at.checked_sub(1).and_then(|i| tokens.get(i)) == Some(&Token::Sign('.'));
    let owner = at.checked_sub(2).and_then(|i| tokens.get(i));
    match owner {
        _ if !dotted => true,
        Some(Token::Name(owner)) => owners.contains(&owner.as_str()),
        // `require('child_process').spawn(…)`.
        Some(Token::Sign(')')) => true,
        _ => false,
    }
}

/// What is handed to a call whose arguments start at `from`.
fn arguments(tokens: &[Token], from: usize, parens: bool) -> Call {
    let mut depth = 0_i32;
    let mut words: Vec<Vec<Part>> = Vec::new();
    let mut word: Vec<Part> = Vec::new();
    let mut list = false;
    let mut list_done = false;
    let mut keyword = false;
    let mut joined = false;
    for token in tokens.get(from..).unwrap_or_default() {
        match token {
            Token::Sign(')' | ']' | '}') if depth == 0 && (parens || !matches!(token, Token::Sign(')'))) => {
                break;
            }
            Token::Sign(';' | '\n') if !parens => break,
            Token::Sign('[') if depth == 0 && !list_done => {
                list = true;
                depth += 1;
            }
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(']') if list && depth == 1 => {
                depth -= 1;
                list_done = true;
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            Token::Sign(')' | ']' | '}') => depth -= 1,
            Token::Sign(',') if depth == i32::from(list && !list_done) => {
                if !word.is_empty() && !keyword {
                    words.push(std::mem::take(&mut word));
                }
                word.clear();
                keyword = false;
            }
            Token::Sign('=' | ':') if depth == 0 => keyword = true,
            // Keyword arguments and options objects after the command say nothing of it.
            _ if list_done || keyword => {}
            Token::Text(parts) | Token::Shell(parts) => {
                word.extend(parts.iter().cloned());
                joined = true;
            }
            Token::Name(name) if matches!(name.as_str(), "split" | "format" | "shlex" | "join" | "quote") => {
            }
            Token::Name(name) => {
                if depth == i32::from(list) && !matches!(name.as_str(), "b" | "r" | "u") {
                    word.push(Part::Unknown(name.clone()));
                }
            }
            Token::Sign(_) => {}
        }
    }
    if !word.is_empty() && !keyword {
        words.push(word);
    }
    let any_known = words.iter().flatten().any(|part| matches!(part, Part::Known(_)));
    if !any_known || !joined {
        return Call::Unclear;
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

fn tokens(code: &str, program: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = code;
    let python = program.starts_with("py");
    let script = matches!(program, "node" | "nodejs" | "deno" | "bun");
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '#' if !script && !program.ends_with("awk") || c == '#' && program.ends_with("awk") => {
                rest = rest.get(rest.find('\n').unwrap_or(rest.len())..).unwrap_or_default();
            }
            '/' if script && after.starts_with('/') => {
                rest = rest.get(rest.find('\n').unwrap_or(rest.len())..).unwrap_or_default();
            }
            '"' | '\'' if rest.starts_with("\"\"\"") || rest.starts_with("'''") => {
                let quote = rest.get(..3).unwrap_or_default();
                let body = rest.get(3..).unwrap_or_default();
                let end = body.find(quote).unwrap_or(body.len());
                let text = body.get(..end).unwrap_or_default();
                tokens.push(text_token(text, interpolation(&tokens, c, program)));
                rest = body.get((end + 3).min(body.len())..).unwrap_or_default();
            }
            '"' | '\'' => {
                let (text, len) = quoted(after, c);
                let token = text_token(&text, interpolation(&tokens, c, program));
                if matches!(token, Token::Text(_))
                    && matches!(tokens.last(), Some(Token::Name(n)) if matches!(n.as_str(), "f" | "b" | "r" | "rb" | "u") && python)
                {
                    tokens.pop();
                }
                tokens.push(token);
                rest = after.get(len..).unwrap_or_default();
            }
            '`' => {
                let (text, len) = quoted(after, c);
                let parts =
                    text_parts(&text, if script { Interpolation::Dollar } else { Interpolation::Hash });
                tokens.push(if script || program.ends_with("awk") || python {
                    Token::Text(parts)
                } else {
                    Token::Shell(parts)
                });
                rest = after.get(len..).unwrap_or_default();
            }
            '%' if after.starts_with("x") && program == "ruby" => {
                rest = shell_quote(&mut tokens, after.get(1..).unwrap_or_default())
            }
            _ if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let (name, tail) = rest.split_at(end);
                if name == "qx" && program == "perl" {
                    rest = shell_quote(&mut tokens, tail);
                } else {
                    tokens.push(Token::Name(name.to_owned()));
                    rest = tail;
                }
            }
            _ => {
                if !c.is_whitespace() || c == '\n' {
                    tokens.push(Token::Sign(c));
                }
                rest = after;
            }
        }
    }
    // Line breaks only matter where brackets do not close a call.
    if !matches!(program, "perl" | "ruby") {
        tokens.retain(|token| *token != Token::Sign('\n'));
    }
    tokens
}

/// `x{…}`, `x(…)`, `x/…/` after its name.
fn shell_quote<'a>(tokens: &mut Vec<Token>, text: &'a str) -> &'a str {
    let Some(open) = text.chars().next() else { return text };
    let close = match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other => other,
    };
    let body = text.get(open.len_utf8()..).unwrap_or_default();
    let end = body.find(close).unwrap_or(body.len());
    tokens.push(Token::Shell(text_parts(body.get(..end).unwrap_or_default(), Interpolation::Hash)));
    body.get((end + close.len_utf8()).min(body.len())..).unwrap_or_default()
}

/// The text up to the closing quote with its escapes resolved, and the length read.
fn quoted(text: &str, quote: char) -> (String, usize) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, '\n')) => {}
                Some((_, other)) => value.push(other),
                None => {}
            },
            _ if c == quote => return (value, at + c.len_utf8()),
            _ => value.push(c),
        }
    }
    (value, text.len())
}

/// How texts take in values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interpolation {
    Nothing,
    /// `{name}`.
    Braces,
    /// `#{name}`, and `$name` in perl.
    Hash,
    /// `${name}`.
    Dollar,
}

fn interpolation(tokens: &[Token], quote: char, program: &str) -> Interpolation {
    if program.starts_with("py") {
        return match tokens.last() {
            Some(Token::Name(prefix)) if matches!(prefix.as_str(), "f" | "rf" | "fr" | "F") => {
                Interpolation::Braces
            }
            _ => Interpolation::Nothing,
        };
    }
    match program {
        "perl" | "ruby" | "php" if quote == '"' => Interpolation::Hash,
        _ => Interpolation::Nothing,
    }
}

fn text_token(text: &str, interpolation: Interpolation) -> Token {
    Token::Text(text_parts(text, interpolation))
}

fn text_parts(text: &str, interpolation: Interpolation) -> Vec<Part> {
    let opens: &[&str] = match interpolation {
        Interpolation::Nothing => &["%s", "{}"],
        Interpolation::Braces => &["{"],
        Interpolation::Hash => &["#{", "$"],
        Interpolation::Dollar => &["${"],
    };
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((at, open)) = opens.iter().filter_map(|open| rest.find(open).map(|at| (at, *open))).min() {
        if at > 0 {
            parts.push(Part::Known(rest.get(..at).unwrap_or_default().to_owned()));
        }
        let inside = rest.get(at..).unwrap_or_default();
        let len = if open.ends_with('{') {
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
