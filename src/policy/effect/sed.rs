//! Scripts of `sed`: `w`, `W` and `s///w` write, `e` and `s///e` run a command.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::model::effect::Effect;
use crate::shell::Command;

/// The effect of a command line of `sed`; the files of `-i` are looked at elsewhere.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
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
            Item::Positional(index) => first = first.or(command.words.get(index)),
            _ => {}
        }
    }
    if scripts.is_empty() {
        scripts.extend(first.cloned());
    }
    // A value put into the script may hold a command; inside an address or a replacement it hardly does.
    match scripts.iter().find(|script| !only_edits(&script.text)) {
        None if scripts.iter().all(|script| script.known().is_some() || !script.prefix().is_empty()) => {
            (Effect::Reads, Why::Stated)
        }
        _ => (Effect::Unknown, Why::Statement),
    }
}

/// Whether a script consists of commands that edit the text alone.
fn only_edits(script: &str) -> bool {
    let mut rest = script.trim_start_matches([' ', '\t', '\n', ';', '}']);
    while !rest.is_empty() {
        let Some(after) = one_command(rest) else { return false };
        rest = after.trim_start_matches([' ', '\t', '\n', ';', '}']);
    }
    true
}

/// What follows the first command of a script; `None` where it is not understood or does more than edit.
fn one_command(script: &str) -> Option<&str> {
    let rest = address(script)?.trim_start();
    let rest = match rest.strip_prefix(',') {
        Some(second) => address(second.trim_start_matches([' ', '+', '~']))?.trim_start(),
        None => rest,
    };
    let rest = rest.trim_start_matches(['!', ' ']);
    let command = rest.chars().next()?;
    let after = rest.get(command.len_utf8()..)?;
    match command {
        '{' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | '=' | 'F' | 'z' => {
            Some(after)
        }
        'q' | 'Q' | 'l' | 'L' => Some(after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')),
        'b' | 't' | 'T' | ':' => {
            Some(after.find([';', '\n', '}']).map_or("", |end| after.get(end..).unwrap_or_default()))
        }
        // Text up to the end of the line.
        'a' | 'i' | 'c' | '#' | 'r' | 'R' => {
            let mut end = 0;
            loop {
                let line = after.get(end..)?.find('\n').map_or(after.len(), |at| end + at);
                if line >= after.len() || !after.get(..line)?.ends_with('\\') {
                    return after.get(line..);
                }
                end = line + 1;
            }
        }
        's' => {
            let rest = delimited(after, 2)?;
            let flags =
                rest.find(|c: char| !(c.is_ascii_digit() || "gpiImM".contains(c))).unwrap_or(rest.len());
            let rest = rest.get(flags..)?;
            rest.is_empty()
                .then_some(rest)
                .or_else(|| rest.starts_with([';', '\n', '}', ' ']).then_some(rest))
        }
        'y' => delimited(after, 2),
        _ => None,
    }
}

/// What follows an address, which may be none.
fn address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('/') {
        let rest = up_to(rest, '/')?;
        return Some(rest.trim_start_matches(['I', 'M']));
    }
    if let Some(rest) = text.strip_prefix('\\') {
        let delimiter = rest.chars().next()?;
        return Some(up_to(rest.get(delimiter.len_utf8()..)?, delimiter)?.trim_start_matches(['I', 'M']));
    }
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    Some(text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~'))
}

/// What follows as many parts, each ended by the delimiter that the text begins with.
fn delimited(text: &str, parts: usize) -> Option<&str> {
    let delimiter = text.chars().next()?;
    let mut rest = text.get(delimiter.len_utf8()..)?;
    for _ in 0..parts {
        rest = up_to(rest, delimiter)?;
    }
    Some(rest)
}

/// What follows the first delimiter that no backslash takes; brackets hide it.
fn up_to(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    let mut bracket = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' if !bracket && text.get(at + 1..)?.contains(']') => bracket = true,
            ']' if bracket && at > 0 => bracket = false,
            _ if c == delimiter && !bracket => return text.get(at + c.len_utf8()..),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::only_edits;

    #[test]
    fn a_script_that_edits_is_told_from_one_that_writes_or_runs() {
        for script in [
            "s/a/b/g",
            "1,5p",
            "/x/,/y/d",
            "$!d",
            "/^#/d;s/ *//",
            "s|/a|/b|",
            "n;d",
            "10q",
            "/a[/]b/p",
            "y/ab/cd/",
            ":a;N;$!ba;s/\\n/ /g",
            "/x/{s/a/b/;p}",
            "1i\\ text",
            "s/w/e/",
            "2!d",
            "",
        ] {
            assert!(only_edits(script), "{script}");
        }
        for script in [
            "w /etc/x",
            "s/a/b/w /etc/x",
            "1e reboot",
            "e",
            "s/a/b/e",
            "s/a/reboot/ge",
            "/x/w out",
            "{w x}",
            "W x",
            "s/a/b",
        ] {
            assert!(!only_edits(script), "{script}");
        }
    }
}
