//! Finds the calls in code of other languages that start a program or a shell.

use super::interpreter_tokens::{Interpolation, Part, Token, text_parts};
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
