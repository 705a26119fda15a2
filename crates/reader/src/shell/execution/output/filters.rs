//! Filters: programs whose output follows from their options and their known standard input.

use data_encoding::{BASE64, BASE64_NOPAD, Encoding, HEXLOWER, HEXLOWER_PERMISSIVE};

use super::regex::{Syntax, compile};
use super::sed;
use crate::languages::names::shell as names;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::marks::without_marks;
use crate::shell::text::is_known;

/// Number of lines that are taken for the endless output of `yes`.
pub(super) const MOST_YES: usize = 64;
/// Maximum length in bytes of a text that is filtered.
const LONGEST: usize = 64 * 1024;

/// The output of a filter; `None` when it is unknown.
pub(crate) fn of(
    evaluator: &Evaluator,
    invocation: &Invocation,
    program: &str,
    args: &[&str],
) -> Option<String> {
    let text = invocation.stdin.as_deref().filter(|text| text.len() <= LONGEST)?;
    if !is_known(text) {
        return unpacked(evaluator, text, program, args);
    }
    // What other bytes become depends on the language, and what a last line without its end becomes on the program.
    if !text.is_ascii() || program == "tac" && !text.ends_with('\n') {
        return None;
    }
    // Such a text stands for an endless one.
    let is_endless = || text.lines().count() >= MOST_YES && text.lines().min() == text.lines().max();
    if program != "head" && is_endless() {
        return None;
    }
    let options_only = args.iter().all(|arg| arg.starts_with('-'));
    let options = names::FILTER_OPTIONS.get(program);
    if options.is_some_and(|known| args.iter().any(|arg| arg.starts_with('-') && !known.has(arg))) {
        return None;
    }
    match program {
        "rev" if args.is_empty() => Some(each_line(text, |line| line.chars().rev().collect())),
        "tac" if args.is_empty() => Some(text.lines().rev().flat_map(|line| [line, "\n"]).collect()),
        "tr" => translate(text, args),
        "base64" if options_only => {
            if decodes(args) {
                decode_base64(text)
            } else {
                Some(encode_base64(text.as_bytes()))
            }
        }
        "openssl" if args.iter().any(|arg| matches!(*arg, "base64" | "-base64" | "-a")) => {
            if args.contains(&"-d") { decode_base64(text) } else { Some(encode_base64(text.as_bytes())) }
        }
        "xxd" if options_only && args.iter().any(|arg| arg.contains('p')) => {
            if args.iter().any(|arg| arg.contains('r')) {
                decoded(&HEXLOWER_PERMISSIVE, text, 2)
            } else {
                Some(HEXLOWER.encode(text.as_bytes()))
            }
        }
        "cut" => cut(text, args),
        "head" | "tail" => part(text, args, program == "tail"),
        "sed" | "gsed" => sed::printed(text, args),
        "grep" | "egrep" | "fgrep" | "ggrep" => selected(text, program, args),
        "nl" => numbered(text, args),
        "dos2unix" if args.is_empty() && !text.contains('\r') => Some(text.to_owned()),
        "iconv" if args.iter().all(|arg| names::ENCODINGS.has(&arg.to_ascii_lowercase())) => {
            Some(text.to_owned())
        }
        "pr" if args == ["-t"] || args == ["-tT"] => Some(text.to_owned()),
        _ => None,
    }
}

/// Whether `base64` decodes.
fn decodes(args: &[&str]) -> bool {
    args.iter().any(|arg| {
        "--decode".starts_with(*arg) && arg.len() > 3
            || (!arg.starts_with("--")
                && arg.strip_prefix('-').is_some_and(|letters| letters.contains(['d', 'D'])))
    })
}

/// The known text that a packer packed and this program unpacks.
fn unpacked(evaluator: &Evaluator, text: &str, program: &str, args: &[&str]) -> Option<String> {
    let packed = evaluator.unknowns.only_mark(text)?;
    let source = packed.source.strip_prefix("$(")?.strip_suffix(')')?;
    let by = source.rsplit('|').next()?.split_whitespace().next()?;
    let unpackers = names::PACKERS.get(by)?;
    let letters =
        |arg: &&str| arg.starts_with("--de") || (!arg.starts_with("--") && arg.contains(['d', 'r', 'D']));
    let unpacks = unpackers.has(program) || (program == by && args.iter().any(letters));
    // Other options cut the text.
    let is_plain = |program: &str, word: &str| {
        !word.starts_with('-') || names::FILTER_OPTIONS.get(program).is_none_or(|known| known.has(word))
    };
    let packing = source.rsplit('|').next()?.split_whitespace().skip(1);
    let is_whole =
        packing.into_iter().all(|word| is_plain(by, word)) && args.iter().all(|word| is_plain(program, word));
    let unpacks = unpacks && is_whole;
    packed.made_from.clone().filter(|_| unpacks)
}

fn each_line(text: &str, mut change: impl FnMut(&str) -> String) -> String {
    text.lines().flat_map(|line| [change(line), "\n".to_owned()]).collect()
}

/// The output of `tr`.
fn translate(text: &str, args: &[&str]) -> Option<String> {
    let (mut deletes, mut squeezes, mut complement) = (false, false, false);
    let mut sets = Vec::new();
    for arg in args {
        match arg.strip_prefix('-').filter(|letters| !letters.is_empty() && sets.is_empty()) {
            Some("-") => {}
            Some("-delete") => deletes = true,
            Some("-squeeze-repeats") => squeezes = true,
            Some("-complement") => complement = true,
            Some(letters) if letters.chars().all(|c| "dscCt".contains(c)) => {
                deletes |= letters.contains('d');
                squeezes |= letters.contains('s');
                complement |= letters.contains(['c', 'C']);
            }
            _ if is_known(arg) => sets.push(members(arg)),
            _ => return None,
        }
    }
    let from = sets.first()?;
    let is_in = |c: char| from.contains(&c) != complement;
    let mut changed = String::with_capacity(text.len());
    let to = sets.get(1).filter(|to| !to.is_empty());
    for c in text.chars() {
        let next = match to {
            _ if !is_in(c) => c,
            _ if deletes => continue,
            Some(to) if complement => *to.last()?,
            Some(to) => {
                let at = from.iter().rposition(|one| *one == c)?;
                *to.get(at).or(to.last())?
            }
            None => c,
        };
        if squeezes && changed.ends_with(next) && (is_in(c) || to.is_some_and(|to| to.contains(&next))) {
            continue;
        }
        changed.push(next);
    }
    Some(changed)
}

/// The characters of a set of `tr`: `a-z`, `[:upper:]`, `\n`.
fn members(set: &str) -> Vec<char> {
    let class = |name: &str| -> Option<Vec<char>> {
        Some(match name {
            "lower" => ('a'..='z').collect(),
            "upper" => ('A'..='Z').collect(),
            "digit" => ('0'..='9').collect(),
            "alpha" => ('A'..='Z').chain('a'..='z').collect(),
            "alnum" => ('0'..='9').chain('A'..='Z').chain('a'..='z').collect(),
            "space" => vec![' ', '\t', '\n', '\r', '\u{b}', '\u{c}'],
            "blank" => vec![' ', '\t'],
            "punct" => ('!'..='~').filter(char::is_ascii_punctuation).collect(),
            "cntrl" => ('\0'..' ').collect(),
            _ => return None,
        })
    };
    let mut found: Vec<char> = Vec::new();
    let mut rest = set;
    let mut range = false;
    while let Some(first) = rest.chars().next() {
        let named = rest.strip_prefix("[:").and_then(|body| body.split_once(":]"));
        if let Some((characters, after)) = named.and_then(|(name, after)| Some((class(name)?, after))) {
            found.extend(characters);
            rest = after;
            continue;
        }
        let (c, len) = if first == '\\' { escaped(rest) } else { (first, first.len_utf8()) };
        rest = rest.get(len..).unwrap_or_default();
        let start = found.last().copied().filter(|_| std::mem::take(&mut range));
        match start {
            Some(start) if start < c && (c as u32) - (start as u32) < 256 => {
                found.extend((start..=c).skip(1));
            }
            _ => found.push(c),
        }
        if first != '\\' && rest.starts_with('-') && rest.len() > 1 {
            range = true;
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    found
}

/// The character of a backslash escape of `tr`, and its length as written.
fn escaped(text: &str) -> (char, usize) {
    let octal: String = text.chars().skip(1).take(3).take_while(|c| ('0'..='7').contains(c)).collect();
    if let Ok(code) = u8::from_str_radix(&octal, 8) {
        return (char::from(code), 1 + octal.len());
    }
    match text.chars().nth(1) {
        Some('n') => ('\n', 2),
        Some('t') => ('\t', 2),
        Some('r') => ('\r', 2),
        Some(other) => (other, 1 + other.len_utf8()),
        None => ('\\', 1),
    }
}

/// The output of `cut`.
fn cut(text: &str, args: &[&str]) -> Option<String> {
    let (mut delimiter, mut list, mut fields) = ("\t", None, false);
    let mut words = args.iter();
    while let Some(arg) = words.next() {
        let (name, attached) = match arg.get(..2)? {
            "--" => arg.split_once('=').map(|(name, value)| (name, Some(value)))?,
            name => (name, arg.get(2..).filter(|rest| !rest.is_empty())),
        };
        match name {
            "-d" | "--delimiter" => delimiter = attached.or_else(|| words.next().copied())?,
            "-f" | "--fields" => (list, fields) = (attached.or_else(|| words.next().copied()), true),
            "-c" | "-b" | "--characters" | "--bytes" => list = attached.or_else(|| words.next().copied()),
            _ => return None,
        }
    }
    let ranges: Vec<(usize, usize)> = list?.split(',').map(span).collect::<Option<_>>()?;
    let is_kept = |at: usize| ranges.iter().any(|(first, last)| (*first..=*last).contains(&(at + 1)));
    if !fields {
        return Some(each_line(text, |line| {
            line.chars().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, c)| c).collect()
        }));
    }
    Some(each_line(text, |line| {
        if !line.contains(delimiter) {
            return line.to_owned();
        }
        let kept = line.split(delimiter).enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, field)| field);
        kept.collect::<Vec<_>>().join(delimiter)
    }))
}

/// The first and the last position of `2`, `2-`, `-3` or `2-3`.
fn span(written: &str) -> Option<(usize, usize)> {
    let Some((first, last)) = written.split_once('-') else {
        return written.parse().ok().map(|at| (at, at));
    };
    let number = |text: &str, otherwise| if text.is_empty() { Some(otherwise) } else { text.parse().ok() };
    Some((number(first, 1)?, number(last, usize::MAX)?))
}

/// The output of `head` or `tail` with a number of lines or bytes.
fn part(text: &str, args: &[&str], is_tail: bool) -> Option<String> {
    let written: String = args.concat();
    let (bytes, number) = match written.strip_prefix("-c") {
        Some(number) => (true, number),
        None => (false, written.strip_prefix("-n").or(written.strip_prefix('-')).unwrap_or(&written)),
    };
    let from_start = number.strip_prefix('+');
    let count: usize = if number.is_empty() { 10 } else { from_start.unwrap_or(number).parse().ok()? };
    let pieces: Vec<&str> =
        if bytes { text.split_inclusive(|_| true).collect() } else { text.split_inclusive('\n').collect() };
    let skipped = match (is_tail, from_start) {
        (true, Some(_)) => count.saturating_sub(1),
        (true, None) => pieces.len().saturating_sub(count),
        (false, Some(_)) => return None,
        (false, None) => return Some(pieces.get(..count.min(pieces.len()))?.concat()),
    };
    Some(pieces.get(skipped.min(pieces.len())..)?.concat())
}

/// The lines that `grep` prints of a text; `None` where its options have it print something else.
fn selected(text: &str, program: &str, args: &[&str]) -> Option<String> {
    let mut syntax = match program {
        "egrep" => Syntax::Extended,
        "fgrep" => Syntax::Fixed,
        _ => Syntax::Basic,
    };
    let (mut patterns, mut letters, mut most) = (Vec::new(), String::new(), usize::MAX);
    let mut words = args.iter();
    while let Some(arg) = words.next() {
        match *arg {
            "--invert-match" => letters.push('v'),
            "--ignore-case" => letters.push('i'),
            "--only-matching" => letters.push('o'),
            "--extended-regexp" => letters.push('E'),
            "--fixed-strings" => letters.push('F'),
            "--line-buffered" | "--color=never" | "--no-filename" | "--text" | "--" => {}
            _ if arg.starts_with("--") => return None,
            _ if arg.len() > 1 && arg.starts_with('-') => {
                let own = arg.get(1..)?;
                if let Some((front, attached)) = own.split_once(['e', 'm']) {
                    let value = if attached.is_empty() { words.next()? } else { attached };
                    letters.push_str(front);
                    if own.get(front.len()..)?.starts_with('e') {
                        patterns.push(value);
                    } else {
                        most = value.parse().ok()?;
                    }
                } else {
                    letters.push_str(own);
                }
            }
            pattern if patterns.is_empty() => patterns.push(pattern),
            _ => return None,
        }
    }
    if letters.contains(|c: char| !"vioEFGPxwhasI".contains(c)) || !patterns.iter().all(|one| is_known(one)) {
        return None;
    }
    for (letter, meant) in [('E', Syntax::Extended), ('F', Syntax::Fixed), ('P', Syntax::Perl)] {
        if letters.contains(letter) {
            syntax = meant;
        }
    }
    let has = |letter| letters.contains(letter);
    let patterns = patterns.iter().flat_map(|one| one.split('\n'));
    let patterns: Vec<_> = patterns.map(|one| compile(one, syntax, has('i'))).collect::<Option<_>>()?;
    if patterns.is_empty() || (has('w') || has('o') && has('v')) {
        return None;
    }
    // The longest of several matches counts, which the library does not look for.
    let chooses = |pattern: &regex_lite::Regex| {
        ["|", "(", "*?", "+?", "??", "}?"].iter().any(|part| pattern.as_str().contains(part))
    };
    if has('o') && syntax != Syntax::Perl && patterns.iter().any(chooses) {
        return None;
    }
    let fits = |line: &str| {
        patterns.iter().any(|pattern| {
            let mut found = pattern.find_iter(line);
            found.any(|found| !has('x') || found.len() == line.len())
        })
    };
    let lines = text.lines().filter(|line| fits(line) != has('v')).take(most);
    if !has('o') {
        return Some(lines.flat_map(|line| [line, "\n"]).collect());
    }
    let [pattern] = patterns.as_slice() else { return None };
    let found = lines.flat_map(|line| pattern.find_iter(line)).filter(|found| !found.is_empty());
    Some(found.flat_map(|found| [found.as_str(), "\n"]).collect())
}

/// The lines of a text with their numbers, as `nl` and `cat -n` print them.
fn numbered(text: &str, args: &[&str]) -> Option<String> {
    let all = match args.concat().as_str() {
        "" => false,
        "-ba" | "-n" => true,
        _ => return None,
    };
    let mut number = 0_usize;
    Some(each_line(text, |line| {
        if line.is_empty() && !all {
            return " ".repeat(7);
        }
        number += 1;
        format!("{number:>6}\t{line}")
    }))
}

/// The text that packed digits hold; `None` where it is no text. What does not fill a byte is left out.
fn decoded(encoding: &Encoding, digits: &str, per_group: usize) -> Option<String> {
    let mut digits: String = digits.chars().filter(|c| !c.is_whitespace()).collect();
    if digits.len() % per_group == 1 {
        digits.pop();
    }
    let text = String::from_utf8(encoding.decode(digits.as_bytes()).ok()?).ok()?;
    Some(without_marks(&text).into_owned())
}

/// The text behind base64 in either alphabet, up to the padding.
pub(super) fn decode_base64(text: &str) -> Option<String> {
    let mut specification = BASE64_NOPAD.specification();
    specification.translate.from.push_str("-_");
    specification.translate.to.push_str("+/");
    specification.check_trailing_bits = false;
    let (digits, padding) = text.split_at(text.find('=').unwrap_or(text.len()));
    let is_end = padding.chars().all(|c| c == '=' || c.is_whitespace());
    decoded(&specification.encoding().ok()?, Some(digits).filter(|_| is_end)?, 4)
}

fn encode_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes) + "\n"
}
