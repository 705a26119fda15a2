//! Programs of `awk`: `system`, pipes and output redirections do more than read.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::model::effect::Effect;
use crate::shell::{Command, Word};

/// The effect of a command line of `awk`.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str], is_scratch: &dyn Fn(&str) -> bool) -> Proof {
    let value = usage.value();
    let mut programs: Vec<Word> = Vec::new();
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, Some(at)) if name.is_any(&["-e", "--source"]) => {
                programs.extend(command.words.get(at.index).map(|word| word.tail(at.offset)));
            }
            Item::Option(name, Some(at))
                if name.is_any(&["-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"]) =>
            {
                let file = texts.get(at.index).copied().unwrap_or_default().to_owned();
                return (Effect::Unknown, Why::ScriptOnDisk(file));
            }
            Item::Option(name, _) if name.is_any(&["--version", "-V", "--help"]) => {
                return (Effect::Reads, Why::Stated);
            }
            Item::Positional(index) => {
                if programs.is_empty() {
                    programs.extend(command.words.get(index).cloned());
                }
                break;
            }
            _ => {}
        }
    }
    let mut files = Vec::new();
    for program in &programs {
        // A value put into the program may hold anything.
        match program.known().and_then(written) {
            Some(found) => files.extend(found),
            None => return (Effect::Unknown, Why::Statement),
        }
    }
    match files.into_iter().find(|file| !is_scratch(file)) {
        Some(file) => (Effect::Changes, Why::Writes(file)),
        None if programs.is_empty() => (Effect::Unknown, Why::Code),
        None => (Effect::Reads, Why::Stated),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    /// A number or a pattern.
    Value,
    Symbol(char),
    /// `++` or `--`.
    Step,
    /// `||`.
    Or,
    /// `>>`.
    Append,
    Line,
}

/// Words behind which a value begins.
const KEYWORDS: [&str; 14] = [
    "print", "printf", "return", "in", "case", "else", "do", "delete", "exit", "getline", "while", "if",
    "for", "func",
];

/// Programs behind a pipe that only print what they are given.
const FILTERS: [&str; 10] = ["sort", "uniq", "head", "tail", "cat", "wc", "column", "tac", "tr", "cut"];

/// The files that a program writes; `None` where it may run a command, or is not understood.
fn written(program: &str) -> Option<Vec<String>> {
    let tokens = tokens(program)?;
    let mut files = Vec::new();
    // Depth of brackets, and that at which the statement prints.
    let (mut depth, mut prints): (i32, Option<i32>) = (0, None);
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let after = |count: usize| tokens.get(at + count);
        let ends =
            |token: Option<&Token>| matches!(token, None | Some(Token::Line | Token::Symbol(';' | '}')));
        match token {
            Token::Name(name) if name == "system" => return None,
            Token::Symbol('@') => return None,
            Token::Name(name) if name == "print" || name == "printf" => prints = Some(depth),
            Token::Symbol('(' | '[') => depth += 1,
            Token::Symbol(')' | ']') => depth -= 1,
            Token::Symbol(';' | '{' | '}') => prints = None,
            Token::Line if !matches!(before, Some(Token::Symbol(',' | '&') | Token::Or)) => prints = None,
            Token::Symbol('>') | Token::Append if prints == Some(depth) => match after(1) {
                Some(Token::Text(file)) if ends(after(2)) => files.push(file.clone()),
                _ => return None,
            },
            Token::Symbol('|') => {
                let starts = at.checked_sub(2).and_then(|at| tokens.get(at));
                let alone = matches!(starts, None | Some(Token::Line | Token::Symbol('{' | '}' | ';' | '(')));
                match (before, after(1)) {
                    // The effect of the command is that of its own node, below this one in the tree.
                    (Some(Token::Text(_)), Some(Token::Name(name))) if name == "getline" && alone => {}
                    (_, Some(Token::Text(filter)))
                        if prints.is_some() && ends(after(2)) && filters(filter) => {}
                    _ => return None,
                }
            }
            _ => {}
        }
    }
    Some(files)
}

/// Whether a command is a plain filter, such as `sort -rn`.
pub fn filters(command: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " -,.:".contains(c);
    let mut words = command.split(' ');
    let only_options = |word: &str| word.is_empty() || (word.starts_with('-') && !word.starts_with("-o"));
    let is_filter = words.next().is_some_and(|name| FILTERS.contains(&name)) && command.chars().all(plain);
    command == "cat 1>&2"
        || command == "cat >&2"
        || (is_filter
            && words.all(|word| {
                only_options(word) || word.chars().all(|c| c.is_ascii_digit() || ",.".contains(c))
            }))
}

/// The tokens of a program; `None` where a `/` may divide or begin a pattern.
fn tokens(program: &str) -> Option<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    // For each open bracket, whether it belongs to `if`, `while` or `for`; and whether the last one closed did.
    let (mut open, mut head) = (Vec::new(), false);
    let mut rest = program;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..)?;
        let value_before = match tokens.last() {
            Some(Token::Name(name)) => !KEYWORDS.contains(&name.as_str()),
            Some(Token::Text(_) | Token::Value | Token::Symbol(')' | ']' | '$')) => true,
            Some(Token::Step) => {
                let one = tokens.len().checked_sub(2).and_then(|at| tokens.get(at));
                matches!(one, Some(Token::Name(_) | Token::Value | Token::Symbol(')' | ']')))
            }
            _ => false,
        };
        match c {
            '"' => {
                let (text, tail) = quoted(after)?;
                tokens.push(Token::Text(text));
                rest = tail;
            }
            '/' if value_before => {
                // Behind the head of an `if`, and behind `getline`, it may be either.
                if head && tokens.last() == Some(&Token::Symbol(')')) {
                    return None;
                }
                tokens.push(Token::Symbol('/'));
                rest = after;
            }
            '/' if matches!(tokens.last(), Some(Token::Name(name)) if name == "getline") => return None,
            '/' => {
                rest = pattern(after)?;
                tokens.push(Token::Value);
            }
            '#' => rest = after.get(after.find('\n').unwrap_or(after.len())..)?,
            '\\' if after.starts_with('\n') => rest = after.get(1..)?,
            '\\' if after.starts_with("\r\n") => rest = after.get(2..)?,
            '\n' => {
                tokens.push(Token::Line);
                rest = after;
            }
            _ if c.is_ascii_digit() => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(rest.len());
                tokens.push(Token::Value);
                rest = rest.get(end..)?;
            }
            _ if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                tokens.push(Token::Name(rest.get(..end)?.to_owned()));
                rest = rest.get(end..)?;
            }
            _ if c.is_whitespace() => rest = after,
            _ => {
                let next = after.chars().next();
                let (token, length) = match (c, next) {
                    ('+', Some('+')) | ('-', Some('-')) => (Token::Step, 1),
                    ('|', Some('|')) => (Token::Or, 1),
                    ('>', Some('>')) => (Token::Append, 1),
                    ('>', Some('=')) => (Token::Value, 1),
                    _ => (Token::Symbol(c), 0),
                };
                if c == '(' {
                    let name = tokens.last();
                    open.push(
                        matches!(name, Some(Token::Name(n)) if matches!(n.as_str(), "if" | "while" | "for")),
                    );
                } else if c == ')' {
                    head = open.pop().unwrap_or_default();
                }
                // `>=` is no value, and what follows it begins one.
                tokens.push(if token == Token::Value { Token::Symbol('=') } else { token });
                rest = after.get(length..)?;
            }
        }
    }
    Some(tokens)
}

/// A text whose opening quote is gone, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut chars = text.char_indices();
    let mut value = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            // What an escape stands for is not looked at: such a text is no path.
            '\\' => {
                value.push('\\');
                value.push(chars.next()?.1);
            }
            '"' => return Some((value, text.get(at + 1..)?)),
            '\n' => return None,
            _ => value.push(c),
        }
    }
    None
}

/// What follows a pattern whose opening `/` is gone. An awk that sees no bracket there finds it unclosed.
fn pattern(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let c = rest.chars().next()?;
        let after = rest.get(c.len_utf8()..)?;
        rest = match c {
            '\\' => after.get(after.chars().next()?.len_utf8()..)?,
            '\n' => return None,
            '/' => return Some(after),
            '[' => super::sed::bracket(after)?,
            _ => after,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{filters, written};

    #[test]
    fn only_programs_that_print_read() {
        for program in [
            "{print $1}",
            "NR>1 {print $2}",
            "$5 > 80",
            "/error/ {n++} END {print n}",
            "{print ($1 > 3)}",
            "{print a[$1 > 3]}",
            "BEGIN{FS=\":\"} $3>=1000{print $1}",
            "{ if ($1 > 5) print $2 }",
            "!seen[$0]++",
            "$1 ~ /a|b/ || $2 == 3 {print}",
            "{printf \"%s > %s\\n\", $1, $2}",
            "{print \"a | b\"}",
            "/systemd/ {print $5}",
            "$0 ~ /system\\(/ {print}",
            "{x[$1]+=$2} END{for (i in x) print x[i], i | \"sort -rn\"}",
            "{s+=$10} END{printf \"%.1f MiB\\n\", s/1048576}",
            "{print a/b; c/d}",
            "/[/]/{print}",
            "{print $1 # > \"/etc/x\"\n}",
            "BEGIN{while ((getline line < \"/etc/hosts\") > 0) print line}",
            "i++ / 2 > 1 {print}",
            "{print > \"/dev/stderr\"}",
        ] {
            let files = written(program);
            assert!(files.is_some_and(|files| files.iter().all(|file| file == "/dev/stderr")), "{program}");
        }
        for program in [
            "{system(\"reboot\")}",
            "{system (\"reboot\")}",
            "{print | \"sh\"}",
            "{print \"reboot\" | \"sort; sh\"}",
            "{print | \"sort -o /etc/x\"}",
            "{print \"x\" |& \"sh\"}",
            "BEGIN{\"da\" \"te\" | getline d}",
            "BEGIN{cmd | getline d}",
            "{print >> f}",
            "{print $1 > $2}",
            "{printf \"x\" > \"/tmp/\" $1}",
            "{print $1,\n$2 > f}",
            "@load \"x\"",
            "BEGIN{f=\"system\"; @f(\"reboot\")}",
            "{print /\"/; system(\"x\") }",
            "{i++ / 2; system(\"reboot\"); y / 3}",
            "{if (x) /\"/; system(\"reboot\") #\"/\n}",
            "{return /\"/; system(\"y\")}",
            "{a = b / c; print \"x\" | \"sh\" }",
        ] {
            assert_eq!(written(program), None, "{program}");
        }
        for program in
            ["{print > \"/etc/x\"}", "{printf(\"%s\", $1) >> \"/etc/x\"}", "{print a, b > \"/etc/x\" }"]
        {
            assert_eq!(written(program), Some(vec!["/etc/x".to_owned()]), "{program}");
        }
    }

    #[test]
    fn a_filter_names_no_file_to_write() {
        assert!(["sort", "sort -k2 -rn", "sort -k 2,2 -n", "uniq -c", "cat 1>&2"].into_iter().all(filters));
        assert!(
            !["sh", "sort -o x", "sort x", "uniq a b", "tail -f | sh", "cat > x"].into_iter().any(filters)
        );
    }
}
