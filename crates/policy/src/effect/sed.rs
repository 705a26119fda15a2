//! Scripts of `sed`: `w`, `W` and `s///w` write, `e` and `s///e` run a command.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::model::effect::Effect;
use crate::shell::Command;

/// The effect of a command line of `sed`; the files of `-i` are looked at elsewhere.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str], is_scratch: &dyn Fn(&str) -> bool) -> Proof {
    let value = usage.value();
    let mut scripts = Vec::new();
    let mut first = None;
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, Some(at)) if name.is_any(&["-e", "--expression"]) => {
                scripts.extend(command.words.get(at.index).map(|word| word.tail(at.offset)));
            }
            Item::Option(name, Some(at)) if name.is_any(&["-f", "--file"]) => {
                let file = texts.get(at.index).copied().unwrap_or_default().to_owned();
                return (Effect::Unknown, Why::ScriptOnDisk(file));
            }
            Item::Option(name, _) if name.is_any(&["--help", "--version"]) => {
                return (Effect::Reads, Why::Stated);
            }
            Item::Positional(index) => first = first.or(command.words.get(index)),
            _ => {}
        }
    }
    if scripts.is_empty() {
        scripts.extend(first.cloned());
    }
    // A value put into an address or a replacement hardly holds a command; one that begins the script may be one.
    let placed = scripts.iter().all(|script| script.known().is_some() || !script.prefix().is_empty());
    let whole: Vec<&str> = scripts.iter().map(|script| script.text.as_str()).collect();
    match written(&whole.join("\n")) {
        Some(files) if placed => match files.into_iter().find(|file| !is_scratch(file)) {
            Some(file) => (Effect::Changes, Why::Writes(file.to_owned())),
            None => (Effect::Reads, Why::Stated),
        },
        _ => (Effect::Unknown, Why::Statement),
    }
}

const BLANK: [char; 4] = [' ', '\t', '\n', ';'];

/// The files that a script writes; `None` where it runs something or is not understood.
fn written(script: &str) -> Option<Vec<&str>> {
    let mut files = Vec::new();
    let mut rest = script.trim_start_matches(BLANK).trim_start_matches('}');
    while !rest.is_empty() {
        rest = one_command(rest, &mut files)?.trim_start_matches(|c| BLANK.contains(&c) || c == '}');
    }
    Some(files)
}

/// What follows the first command of a script; `None` where it is not understood or runs something.
fn one_command<'a>(script: &'a str, files: &mut Vec<&'a str>) -> Option<&'a str> {
    let rest = address(script)?.trim_start_matches([' ', '\t']);
    let rest = match rest.strip_prefix(',') {
        Some(second) => {
            address(second.trim_start_matches([' ', '\t', '+', '~']))?.trim_start_matches([' ', '\t'])
        }
        None => rest,
    };
    let rest = rest.trim_start_matches(['!', ' ', '\t']);
    let command = rest.chars().next()?;
    let after = rest.get(command.len_utf8()..)?;
    match command {
        '{' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | '=' | 'F' | 'z' => {
            Some(after)
        }
        'q' | 'Q' | 'l' | 'L' => Some(after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')),
        'b' | 't' | 'T' | ':' | 'v' => {
            let label = after.trim_start_matches([' ', '\t']);
            let is_label = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            let rest = label.trim_start_matches(is_label);
            let ends =
                rest.is_empty() || rest.starts_with(BLANK) || (rest.starts_with('}') && command != ':');
            ends.then_some(rest)
        }
        '#' | 'r' | 'R' => Some(line(after).1),
        'w' | 'W' => {
            let (file, rest) = line(after);
            files.push(file.trim_start_matches([' ', '\t']));
            Some(rest)
        }
        'a' | 'i' | 'c' => Some(text(after)),
        's' => {
            let rest = delimited(after, command)?;
            let flags =
                rest.find(|c: char| !(c.is_ascii_digit() || "gpiImM".contains(c))).unwrap_or(rest.len());
            let rest = rest.get(flags..)?;
            if let Some(file) = rest.strip_prefix('w') {
                let (file, rest) = line(file);
                files.push(file.trim_start_matches([' ', '\t']));
                return Some(rest);
            }
            (rest.is_empty() || rest.starts_with([';', '\n', '}', ' ', '\t', '#'])).then_some(rest)
        }
        'y' => delimited(after, command),
        _ => None,
    }
}

/// A line and what follows it.
fn line(text: &str) -> (&str, &str) {
    text.split_at(text.find('\n').unwrap_or(text.len()))
}

/// What follows the text of `a`, `i` and `c`, which goes on behind a line that ends in an odd number of backslashes.
fn text(after: &str) -> &str {
    let mut rest = after;
    loop {
        let (one, next) = line(rest);
        let backslashes = one.len() - one.trim_end_matches('\\').len();
        if next.is_empty() || backslashes % 2 == 0 {
            return next;
        }
        rest = next.get(1..).unwrap_or_default();
    }
}

/// What follows an address, which may be none.
fn address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('/') {
        return Some(pattern(rest, '/')?.trim_start_matches(['I', 'M']));
    }
    if let Some(rest) = text.strip_prefix('\\') {
        let delimiter = rest.chars().next()?;
        return Some(pattern(rest.get(delimiter.len_utf8()..)?, delimiter)?.trim_start_matches(['I', 'M']));
    }
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    Some(text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~'))
}

/// What follows both parts of `s` and `y`, ended by the delimiter that the text begins with.
fn delimited(text: &str, command: char) -> Option<&str> {
    let delimiter = text.chars().next().filter(|c| !matches!(c, '\n' | '\\'))?;
    let first = text.get(delimiter.len_utf8()..)?;
    let second = if command == 's' { pattern(first, delimiter)? } else { plain(first, delimiter)? };
    plain(second, delimiter)
}

/// What follows the delimiter that ends a text without brackets.
fn plain(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\n' => return None,
            _ if c == delimiter => return text.get(at + c.len_utf8()..),
            _ => {}
        }
    }
    None
}

/// What follows the delimiter that ends a pattern. Brackets hide one; a sed that sees no brackets there finds them
/// unclosed and runs nothing.
fn pattern(text: &str, delimiter: char) -> Option<&str> {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..)?;
        rest = match c {
            '\\' => after.get(after.chars().next()?.len_utf8()..)?,
            '\n' => return None,
            _ if c == delimiter => return Some(after),
            '[' => bracket(after)?,
            _ => after,
        };
    }
    None
}

/// What follows a bracket expression whose `[` is gone.
pub fn bracket(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('^').unwrap_or(text);
    let mut rest = rest.strip_prefix(']').unwrap_or(rest);
    loop {
        let c = rest.chars().next().filter(|c| *c != '\n')?;
        let after = rest.get(c.len_utf8()..)?;
        rest = match (c, after.chars().next()) {
            (']', _) => return Some(after),
            ('[', Some(kind @ (':' | '.' | '='))) => {
                let end = format!("{kind}]");
                let inside = after.get(1..)?;
                inside.get(inside.find(&end)? + end.len()..)?
            }
            _ => after,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn only_scripts_that_edit_the_output_read() {
        for script in [
            "s/a/b/g",
            "1,5p",
            "/x/,/y/d",
            "/x/,+3p",
            "0~4d",
            "$!d",
            "/^#/d;s/ *//",
            "s|/a|/b|",
            "n;d",
            "10q",
            "/a[/]b/p",
            "s/[]/]/x/",
            "s/[^]/[:space:]]*//",
            "y/ab/cd/",
            ":a;N;$!ba;s/\\n/ /g",
            "/x/{s/a/b/;p}",
            "1i\\ text",
            "a e reboot\np",
            "a x\\\ne reboot",
            "s/w/e/",
            "2!d",
            "s,\\,,e,",
            "/\\[Service\\]/,/^\\[/p",
            "\\|/srv|p",
            "# e\np",
            "",
        ] {
            assert_eq!(written(script), Some(vec![]), "{script}");
        }
        for script in [
            "1e reboot",
            "e",
            "s/a/b/e",
            "s/a/reboot/ge",
            "s/a/b",
            "s/a/[/;e reboot;s/]/b/",
            "y/a/[/;e reboot #]/",
            "a x\\\\\ne reboot",
            "$!N;1e reboot",
            "/x/!e reboot",
            "p;e",
            "{e}",
            "s/a\\/b/c/e",
            "s/x/y/;\ne id",
            "/[/]e reboot",
            ":a}e",
            "5!{e id\n}",
        ] {
            assert_eq!(written(script), None, "{script}");
        }
        for (script, file) in [
            ("w /etc/x", "/etc/x"),
            ("s/a/b/w /etc/x", "/etc/x"),
            ("s/a/b/gpw out;p", "out;p"),
            ("/x/w out", "out"),
            ("W x", "x"),
            ("p;w x\np", "x"),
        ] {
            assert_eq!(written(script), Some(vec![file]), "{script}");
        }
    }
}
