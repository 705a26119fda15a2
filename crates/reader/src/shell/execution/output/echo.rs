//! What `echo` and `printf` print.

use crate::shell::evaluator::Evaluator;
use crate::shell::expansion::arithmetic::evaluate;
use crate::shell::grammar::ansi_c::ansi_c;
use crate::shell::state::Shell;
use crate::shell::text::is_known;

/// What `echo` prints, which may read backslash escapes without being asked to.
pub(super) fn echo(args: &[&str], mut escapes: bool) -> String {
    let mut line_break = true;
    let mut first = 0;
    for arg in args {
        match arg.strip_prefix('-') {
            Some(letters) if !letters.is_empty() && letters.chars().all(|c| "neE".contains(c)) => {
                line_break &= !letters.contains('n');
                if let Some(last) = letters.rfind(['e', 'E']) {
                    escapes = letters.get(last..).is_some_and(|l| l.starts_with('e'));
                }
                first += 1;
            }
            _ => break,
        }
    }
    let mut text = args.get(first..).unwrap_or_default().join(" ");
    if escapes {
        // `\\c` ends the output.
        if let Some(end) = text.find("\\c") {
            text.truncate(end);
            line_break = false;
        }
        text = unescape(&text, In::Echo);
    }
    if line_break {
        text.push('\n');
    }
    text
}

/// Where a text with backslash escapes stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    /// In words of `echo -e`: octal digits follow a `0`.
    Echo,
    /// In a format: there are up to three octal digits.
    Format,
    /// In the word of `%b`: both.
    Word,
}

/// Backslash escapes as `echo -e` and `printf` resolve them.
fn unescape(text: &str, place: In) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    // An unescaped quote would end the text early, and so would a NUL.
    let mut guarded = String::from("$'");
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('0')) => {
                chars.next();
                let is_octal = chars.peek().is_some_and(|c| ('0'..='7').contains(c));
                guarded.push_str(match place {
                    _ if !is_octal => "\0",
                    In::Format => "\\0",
                    In::Echo | In::Word => "\\",
                });
            }
            ('\\', Some(&next)) => {
                chars.next();
                // Only quotes know `\x{…}`.
                let is_literal =
                    next == 'x' && chars.peek() == Some(&'{') || place == In::Echo && next.is_ascii_digit();
                guarded.extend([if is_literal { "\\\\" } else { "\\" }, next.encode_utf8(&mut [0; 4])]);
            }
            ('\'', _) => guarded.push_str("\\'"),
            (c, _) => guarded.push(c),
        }
    }
    guarded.push('\'');
    ansi_c(&guarded).0
}

pub(super) fn printf(evaluator: &mut Evaluator, args: &[&str]) -> String {
    let args = if args.first() == Some(&"--") { args.get(1..).unwrap_or_default() } else { args };
    let [format, rest @ ..] = args else { return String::new() };
    let mut text = String::new();
    let mut rest = rest.iter();
    loop {
        let before = rest.len();
        let mut chars = format.chars().peekable();
        let mut literal = String::new();
        while let Some(c) = chars.next() {
            if c != '%' {
                literal.push(c);
                continue;
            }
            text.push_str(&unescape(&literal, In::Format));
            literal.clear();
            let mut conversion = chars.next();
            let mut form = String::new();
            while let Some(c) = conversion.filter(|c| c.is_ascii_digit() || "-+ #.*'".contains(*c)) {
                form.push(c);
                conversion = chars.next();
            }
            match conversion {
                Some('%') => text.push('%'),
                Some('b') => text.push_str(&unescape(rest.next().copied().unwrap_or_default(), In::Word)),
                Some('q') => text.push_str(&quoted(rest.next().copied().unwrap_or_default())),
                Some('(') => {
                    // A date, or any text.
                    let date: String = chars.by_ref().take_while(|c| *c != ')').collect();
                    chars.next();
                    rest.next();
                    if date.contains(['/', '-']) && !date.starts_with('%') || date.contains(" -") {
                        return evaluator.unknowns.foreign(format!("$(computed printf {format})"));
                    }
                    text.push_str(&evaluator.unknowns.plain("%(…)T"));
                }
                // Conversions that are not followed, and widths that are arguments.
                Some(other) if !"sdiuxXocfFeEgGaA".contains(other) || form.contains('*') => {
                    return evaluator.unknowns.foreign(format!("$(computed printf {format})"));
                }
                conversion => {
                    let arg = rest.next().copied().unwrap_or_default();
                    let converted = conversion.and_then(|conversion| converted(arg, conversion, &form));
                    let source = || format!("%{form}{}", conversion.unwrap_or_default());
                    let is_number = conversion.is_some_and(|c| !"sc".contains(c));
                    let unknown = || {
                        if is_known(arg) && !is_number {
                            evaluator.unknowns.foreign(format!("$(computed printf {format})"))
                        } else {
                            evaluator.unknowns.many(source())
                        }
                    };
                    text.push_str(&converted.unwrap_or_else(unknown));
                }
            }
        }
        text.push_str(&unescape(&literal, In::Format));
        // The format is used again until the arguments are used up.
        if rest.len() == 0 || rest.len() == before {
            return text;
        }
        evaluator.spend(1);
        if evaluator.exhausted() {
            return text;
        }
    }
}

/// A word as `%q` prints it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c) || !is_known(word);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// An argument of `printf` in the form that a conversion such as `%x`, `%03o`, `%c` or `%-8.4s` gives it; `None` where it is
/// not known.
fn converted(arg: &str, conversion: char, form: &str) -> Option<String> {
    if !is_known(arg) {
        return form.is_empty().then(|| arg.to_owned());
    }
    let (width, precision) = match form.split_once('.') {
        Some((width, precision)) => (width, Some(precision.parse::<usize>().ok()?)),
        None => (form, None),
    };
    let is_number = matches!(conversion, 'd' | 'i' | 'u' | 'x' | 'X' | 'o');
    let number = || match arg.strip_prefix(['\'', '"']).and_then(|rest| rest.chars().next()) {
        Some(character) => Some(i64::from(u32::from(character))),
        None if arg.is_empty() => Some(0),
        None => evaluate(arg, &Shell::default()),
    };
    let text = match conversion {
        'c' => arg.chars().take(1).collect(),
        's' => arg.chars().take(precision.unwrap_or(usize::MAX)).collect(),
        _ if precision.is_some() => return None,
        'x' => format!("{:x}", number()?),
        'X' => format!("{:X}", number()?),
        'o' => format!("{:o}", number()?),
        'd' | 'i' | 'u' => number()?.to_string(),
        _ => return None,
    };
    let is_left = width.starts_with('-');
    let digits = width.strip_prefix('-').unwrap_or(width);
    if digits.is_empty() {
        return Some(text);
    }
    let size = digits.parse::<usize>().ok().filter(|size| *size <= 64)?;
    Some(match (is_left, digits.starts_with('0') && is_number && !text.starts_with('-')) {
        (true, _) => format!("{text:<size$}"),
        (false, true) => format!("{text:0>size$}"),
        (false, false) => format!("{text:>size$}"),
    })
}
