//! Scripts of `sed`, command by command.

use super::text::split_at_end;

const BLANKS: [char; 2] = [' ', '\t'];

/// One command of a script, as far as it concerns anything but the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Edit<'a> {
    /// The file that it writes: `w`, `W` and `s///w`.
    pub writes: Option<&'a str>,
    /// Whether it reads a file: `r` and `R`.
    pub reads: bool,
    /// What it runs: `e` and `s///e`.
    pub runs: Option<Run<'a>>,
}

/// What a command of `sed` runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run<'a> {
    /// This text; the line of input where it is empty.
    Text(&'a str),
    /// The line of input after a substitution.
    Substituted {
        /// What is replaced.
        pattern: &'a str,
        /// What replaces it.
        replacement: &'a str,
    },
}

/// The commands of a script; an error contains the text from the first command on that is not understood, and ends them.
pub fn edits(script: &str) -> impl Iterator<Item = Result<Edit<'_>, &str>> {
    let mut rest = Some(script.trim_start());
    std::iter::from_fn(move || {
        let script = rest.take()?.trim_start_matches([' ', '\t', '\n', ';', '}']);
        if script.is_empty() {
            return None;
        }
        let Some(command) = after_addresses(script) else { return Some(Err("")) };
        Some(match edit(command) {
            Some((edit, after)) => {
                rest = Some(after);
                Ok(edit)
            }
            None => Err(command),
        })
    })
}

/// A script from its first command on.
fn after_addresses(script: &str) -> Option<&str> {
    let rest = address(script)?.trim_start_matches(BLANKS);
    let rest = match rest.strip_prefix(',') {
        Some(second) => address(second.trim_start_matches([' ', '\t', '+', '~']))?,
        None => rest,
    };
    Some(rest.trim_start_matches(['!', ' ', '\t']))
}

/// The first command of a script without its addresses, and what follows it; `None` where it is not understood.
fn edit(script: &str) -> Option<(Edit<'_>, &str)> {
    let command = script.chars().next()?;
    let after = script.get(command.len_utf8()..)?;
    let mut edit = Edit::default();
    let rest = match command {
        '{' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | '=' | 'F' | 'z' => after,
        'q' | 'Q' | 'l' | 'L' => after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '),
        'b' | 't' | 'T' | ':' | 'v' => {
            let label = after.trim_start_matches(BLANKS);
            let is_label = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            let rest = label.trim_start_matches(is_label);
            let ends = rest.is_empty()
                || rest.starts_with([' ', '\t', '\n', ';'])
                || (rest.starts_with('}') && command != ':');
            ends.then_some(rest)?
        }
        '#' => line(after).1,
        'r' | 'R' => {
            edit.reads = true;
            line(after).1
        }
        'w' | 'W' => {
            let (file, rest) = line(after);
            edit.writes = Some(file.trim_start_matches(BLANKS));
            rest
        }
        'e' => {
            let (text, rest) = line(after);
            edit.runs = Some(Run::Text(text.trim()));
            rest
        }
        'a' | 'i' | 'c' => text(after),
        's' => {
            let (pattern, replacement, rest) = both(after, true)?;
            let flags = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "gpiImMe".contains(c));
            if rest.get(..rest.len() - flags.len())?.contains('e') {
                edit.runs = Some(Run::Substituted { pattern, replacement });
            }
            match flags.strip_prefix('w') {
                Some(file) => {
                    let (file, rest) = line(file);
                    edit.writes = Some(file.trim_start_matches(BLANKS));
                    rest
                }
                None => (flags.is_empty() || flags.starts_with([';', '\n', '}', ' ', '\t', '#']))
                    .then_some(flags)?,
            }
        }
        'y' => both(after, false)?.2,
        _ => return None,
    };
    Some((edit, rest))
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
    let delimited = match text.strip_prefix('/') {
        Some(rest) => Some(('/', rest)),
        None => match text.strip_prefix('\\') {
            Some(rest) => {
                let delimiter = rest.chars().next()?;
                Some((delimiter, rest.get(delimiter.len_utf8()..)?))
            }
            None => None,
        },
    };
    Some(match delimited {
        Some((mark, rest)) => pattern(rest, mark)?.1.trim_start_matches(['I', 'M']),
        None => text
            .strip_prefix('$')
            .unwrap_or_else(|| text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~')),
    })
}

/// Both parts of `s` and `y`, ended by the delimiter that the text begins with, and what follows them.
fn both(text: &str, is_pattern: bool) -> Option<(&str, &str, &str)> {
    let delimiter = text.chars().next().filter(|c| !matches!(c, '\n' | '\\'))?;
    let text = text.get(delimiter.len_utf8()..)?;
    let plain = |text| {
        let (inside, rest) = split_at_end(text, delimiter.encode_utf8(&mut [0; 4]))?;
        Some((inside, rest)).filter(|_| !has_bare_line_break(inside))
    };
    let (first, rest) = if is_pattern { pattern(text, delimiter)? } else { plain(text)? };
    let (second, rest) = plain(rest)?;
    Some((first, second, rest))
}

fn has_bare_line_break(text: &str) -> bool {
    split_at_end(text, "\n").is_some()
}

/// A pattern and what follows the delimiter that ends it. Brackets hide one; a sed that sees no brackets there finds them
/// unclosed and runs nothing.
fn pattern(text: &str, delimiter: char) -> Option<(&str, &str)> {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..)?;
        rest = match c {
            '\\' => after.get(after.chars().next()?.len_utf8()..)?,
            '\n' => return None,
            _ if c == delimiter => return Some((text.get(..text.len() - rest.len())?, after)),
            '[' => bracket(after)?,
            _ => after,
        };
    }
    None
}

/// What follows a bracket expression whose `[` is gone.
pub(super) fn bracket(text: &str) -> Option<&str> {
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

/// The files that a script writes; `None` where it runs something, reads a file or is not understood.
pub fn written(script: &str) -> Option<Vec<String>> {
    let mut files = Vec::new();
    for edit in edits(script) {
        let edit = edit.ok().filter(|edit| edit.runs.is_none() && !edit.reads)?;
        files.extend(edit.writes.map(str::to_owned));
    }
    Some(files)
}
