//! What `sed` prints for a known text.

use regex_lite::{Captures, Regex};

use super::regex::{Syntax, compile};
use crate::shell::text::is_known;

/// Maximum length in bytes of what is printed.
const LONGEST: usize = 64 * 1024;

/// Which lines a command concerns.
enum Address {
    Line(usize),
    Last,
    Match(Regex),
}

/// A command and its lines.
struct Step {
    from: Option<Address>,
    to: Option<Address>,
    negated: bool,
    is_open: bool,
    does: Does,
}

enum Does {
    Delete,
    Print,
    Quit,
    Substitute { pattern: Regex, replacement: Vec<Piece>, nth: usize, global: bool, prints: bool },
    Map(Vec<char>, Vec<char>),
    Append(String),
    Insert(String),
    Change(String),
}

/// A part of a replacement.
enum Piece {
    Text(String),
    /// A group; 0 is the whole match.
    Group(usize),
}

/// The output of `sed` with these arguments, none of which is a file; `None` where it cannot be determined.
pub(super) fn printed(text: &str, args: &[&str]) -> Option<String> {
    let (mut quiet, mut syntax) = (false, Syntax::Basic);
    let mut scripts = Vec::new();
    let mut words = args.iter();
    while let Some(arg) = words.next() {
        match *arg {
            "-n" | "--quiet" | "--silent" => quiet = true,
            "-E" | "-r" | "--regexp-extended" => syntax = Syntax::Extended,
            "-u" | "-s" | "--unbuffered" | "-i" | "--in-place" => {}
            "-e" | "--expression" => scripts.push(*words.next()?),
            "-ne" | "-nE" | "-En" | "-nr" | "-rn" | "-Ee" | "-re" | "-ie" => {
                quiet |= arg.contains('n');
                if arg.contains(['E', 'r']) {
                    syntax = Syntax::Extended;
                }
                if arg.ends_with('e') && *arg != "-ie" {
                    scripts.push(*words.next()?);
                }
            }
            _ if arg.starts_with("--expression=") => scripts.push(arg.split_once('=')?.1),
            _ if arg.starts_with("-i") && !arg.contains('n') => {}
            _ if arg.starts_with('-') => return None,
            script if scripts.is_empty() => scripts.push(script),
            _ => return None,
        }
    }
    if scripts.is_empty() || scripts.iter().any(|script| !is_known(script)) {
        return None;
    }
    let mut steps = steps(&scripts.join("\n"), syntax)?;
    run(text, &mut steps, quiet)
}

fn run(text: &str, steps: &mut [Step], quiet: bool) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let (number, is_last) = (at + 1, at + 1 == lines.len());
        let mut space = (*line).to_owned();
        let (mut shows, mut ends) = (!quiet, false);
        let mut after = String::new();
        for step in steps.iter_mut() {
            if !step.applies(&space, number, is_last) {
                continue;
            }
            match &step.does {
                Does::Delete => {
                    shows = false;
                    break;
                }
                Does::Print => out.extend([space.as_str(), "\n"]),
                Does::Quit => {
                    ends = true;
                    break;
                }
                Does::Substitute { pattern, replacement, nth, global, prints } => {
                    let (changed, hit) = substituted(pattern, replacement, (*nth, *global), &space);
                    space = changed;
                    if hit && *prints {
                        out.extend([space.as_str(), "\n"]);
                    }
                }
                Does::Map(from, to) => {
                    let map =
                        |c: char| from.iter().position(|one| *one == c).and_then(|at| to.get(at)).copied();
                    space = space.chars().map(|c| map(c).unwrap_or(c)).collect();
                }
                Does::Append(text) => after.extend([text.as_str(), "\n"]),
                Does::Insert(text) => out.extend([text.as_str(), "\n"]),
                Does::Change(text) => {
                    out.extend([text.as_str(), "\n"]);
                    shows = false;
                    break;
                }
            }
        }
        if shows {
            out.extend([space.as_str(), "\n"]);
        }
        out.push_str(&after);
        if out.len() > LONGEST {
            return None;
        }
        if ends {
            break;
        }
    }
    Some(out)
}

impl Step {
    fn applies(&mut self, space: &str, number: usize, is_last: bool) -> bool {
        let fits = |address: &Address| match address {
            Address::Line(line) => *line == number,
            Address::Last => is_last,
            Address::Match(pattern) => pattern.is_match(space),
        };
        let hit = match (&self.from, &self.to) {
            (None, _) => true,
            (Some(from), None) => fits(from),
            (Some(_), Some(to)) if self.is_open => {
                let past = matches!(to, Address::Line(line) if *line <= number);
                self.is_open = !past && !fits(to);
                true
            }
            (Some(from), Some(to)) => {
                let starts = fits(from);
                self.is_open = starts && !matches!(to, Address::Line(line) if *line <= number);
                starts
            }
        };
        hit != self.negated
    }
}

fn substituted(
    pattern: &Regex,
    replacement: &[Piece],
    (nth, global): (usize, bool),
    space: &str,
) -> (String, bool) {
    let mut out = String::new();
    let mut end = 0;
    let mut hit = false;
    for (at, found) in pattern.captures_iter(space).enumerate() {
        let whole = found.get(0).map(|whole| (whole.start(), whole.end()));
        let Some((start, stop)) = whole.filter(|_| at + 1 >= nth) else { continue };
        out.push_str(space.get(end..start).unwrap_or_default());
        out.extend(replacement.iter().map(|piece| piece.text(&found)));
        (end, hit) = (stop, true);
        if !global {
            break;
        }
    }
    out.push_str(space.get(end..).unwrap_or_default());
    (out, hit)
}

impl Piece {
    fn text<'t>(&'t self, found: &Captures<'t>) -> &'t str {
        match self {
            Self::Text(text) => text,
            Self::Group(group) => found.get(*group).map_or("", |group| group.as_str()),
        }
    }
}

/// The commands of a script; `None` where one is not understood.
fn steps(script: &str, syntax: Syntax) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';']);
        if rest.is_empty() {
            return Some(steps);
        }
        let (from, after) = address(rest, syntax)?;
        let (to, after) = match after.trim_start().strip_prefix(',').filter(|_| from.is_some()) {
            Some(second) => {
                let (to, after) = address(second.trim_start(), syntax)?;
                (Some(to?), after)
            }
            None => (None, after),
        };
        let after = after.trim_start();
        let (negated, after) =
            after.strip_prefix('!').map_or((false, after), |after| (true, after.trim_start()));
        let (does, after) = does(after, syntax)?;
        steps.push(Step { from, to, negated, is_open: false, does });
        let after = after.trim_start_matches([' ', '\t']);
        if !(after.is_empty() || after.starts_with([';', '\n'])) {
            return None;
        }
        rest = after;
    }
}

/// The address at the beginning of a text, which may be none, and what follows it.
fn address(text: &str, syntax: Syntax) -> Option<(Option<Address>, &str)> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some((Some(Address::Last), rest));
    }
    if let Some(rest) = text.strip_prefix('/') {
        let (pattern, rest) = part(rest, '/')?;
        let (ignores_case, rest) = rest.strip_prefix('I').map_or((false, rest), |rest| (true, rest));
        return Some((Some(Address::Match(compile(&pattern, syntax, ignores_case)?)), rest));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    if number.is_empty() {
        return (!text.starts_with('\\')).then_some((None, text));
    }
    (!rest.starts_with('~')).then_some((Some(Address::Line(number.parse().ok()?)), rest))
}

/// The command at the beginning of a text, and what follows it.
fn does(text: &str, syntax: Syntax) -> Option<(Does, &str)> {
    let command = text.chars().next()?;
    let rest = text.get(command.len_utf8()..)?;
    Some(match command {
        'd' => (Does::Delete, rest),
        'p' => (Does::Print, rest),
        'q' => (Does::Quit, rest),
        'a' | 'i' | 'c' => {
            let rest = rest.trim_start_matches([' ', '\t']);
            let rest = rest.strip_prefix("\\\n").or(rest.strip_prefix('\\')).unwrap_or(rest);
            let (text, rest) = rest.split_at(rest.find('\n').unwrap_or(rest.len()));
            if text.contains('\\') {
                return None;
            }
            let text = text.trim_start_matches([' ', '\t']).to_owned();
            let does = match command {
                'a' => Does::Append(text),
                'i' => Does::Insert(text),
                _ => Does::Change(text),
            };
            (does, rest)
        }
        'y' => {
            let (from, to, rest) = both(rest)?;
            if from.contains('\\') || to.contains('\\') {
                return None;
            }
            (Does::Map(from.chars().collect(), to.chars().collect()), rest)
        }
        's' => {
            let (pattern, to, rest) = both(rest)?;
            // The longest of several alternatives counts, which the library does not look for.
            let chooses = if syntax == Syntax::Extended { "|" } else { "\\|" };
            // In brackets, sed has escapes, and the library others.
            if pattern.is_empty()
                || pattern.contains(chooses)
                || pattern.contains('[') && pattern.contains('\\')
            {
                return None;
            }
            let end = rest.find(|c: char| !(c.is_ascii_digit() || "gpIi".contains(c))).unwrap_or(rest.len());
            let (flags, rest) = rest.split_at(end);
            let digits: String = flags.chars().filter(char::is_ascii_digit).collect();
            let nth = if digits.is_empty() { 1 } else { digits.parse().ok()? };
            let pattern = compile(&pattern, syntax, flags.contains(['i', 'I']))?;
            let (global, prints) = (flags.contains('g'), flags.contains('p'));
            (Does::Substitute { pattern, replacement: pieces(&to)?, nth, global, prints }, rest)
        }
        _ => return None,
    })
}

/// Both parts of `s` and `y`, ended by the delimiter that the text begins with, and what follows them.
fn both(text: &str) -> Option<(String, String, &str)> {
    let mark = text.chars().next().filter(|c| !matches!(c, '\n' | '\\'))?;
    let (first, rest) = part(text.get(mark.len_utf8()..)?, mark)?;
    let (second, rest) = part(rest, mark)?;
    Some((first, second, rest))
}

/// The text up to a delimiter, which a backslash escapes, and what follows it.
fn part(text: &str, mark: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next()?.1 {
                escaped if escaped == mark => out.push(escaped),
                escaped => out.extend(['\\', escaped]),
            },
            _ if c == mark => return Some((out, text.get(at + mark.len_utf8()..)?)),
            _ => out.push(c),
        }
    }
    None
}

/// The parts of a replacement; `None` where one changes the case of letters.
fn pieces(text: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let group = match c {
            '&' => Some(0),
            '\\' => match chars.next()? {
                digit if digit.is_ascii_digit() => Some(digit as usize - '0' as usize),
                'n' => {
                    plain.push('\n');
                    None
                }
                't' => {
                    plain.push('\t');
                    None
                }
                letter if letter.is_ascii_alphabetic() => return None,
                other => {
                    plain.push(other);
                    None
                }
            },
            _ => {
                plain.push(c);
                None
            }
        };
        if let Some(group) = group {
            pieces.extend([Piece::Text(std::mem::take(&mut plain)), Piece::Group(group)]);
        }
    }
    pieces.push(Piece::Text(plain));
    Some(pieces)
}
