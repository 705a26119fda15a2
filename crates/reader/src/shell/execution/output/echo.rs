//! What `echo` and `printf` print.

use crate::shell::evaluator::Evaluator;
use crate::shell::grammar::word::ansi_c;
use crate::shell::text::is_known;

pub(super) fn echo(args: &[&str]) -> String {
    let mut line_break = true;
    let mut escapes = false;
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
        text = unescape(&text);
    }
    if line_break {
        text.push('\n');
    }
    text
}

/// Backslash escapes as `echo -e` and `printf` resolve them.
fn unescape(text: &str) -> String {
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
                guarded.push_str(if is_octal { "\\" } else { "\0" });
            }
            ('\\', Some(next)) => {
                guarded.extend(['\\', *next]);
                chars.next();
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
            text.push_str(&unescape(&literal));
            literal.clear();
            let mut conversion = chars.next();
            let mut precision: Option<String> = None;
            let mut width = String::new();
            while let Some(c) = conversion.filter(|c| c.is_ascii_digit() || "-+ #.*'".contains(*c)) {
                match (c, &mut precision) {
                    ('.', _) => precision = Some(String::new()),
                    (digit, Some(digits)) => digits.push(digit),
                    (digit, None) => width.push(digit),
                }
                conversion = chars.next();
            }
            match conversion {
                Some('%') => text.push('%'),
                Some('b') => text.push_str(&unescape(rest.next().copied().unwrap_or_default())),
                Some('q') => {
                    text.push('\'');
                    text.push_str(&rest.next().copied().unwrap_or_default().replace('\'', "'\\''"));
                    text.push('\'');
                }
                Some('(') => {
                    // A date.
                    while chars.next().is_some_and(|c| c != ')') {}
                    chars.next();
                    rest.next();
                    text.push_str(&evaluator.unknowns.plain("%(…)T"));
                }
                conversion => {
                    let arg = rest.next().copied().unwrap_or_default();
                    text.push_str(&converted(arg, conversion, &width, precision.as_deref()));
                }
            }
        }
        text.push_str(&unescape(&literal));
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

/// An argument of `printf` in the form that a conversion such as `%x`, `%03o`, `%c` or `%.4s` gives it.
fn converted(arg: &str, conversion: Option<char>, width: &str, precision: Option<&str>) -> String {
    if !is_known(arg) {
        return arg.to_owned();
    }
    let number = || {
        let character = arg.strip_prefix(['\'', '"']).and_then(|rest| rest.chars().next());
        character.map(|c| i64::from(u32::from(c))).or_else(|| match arg.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => arg.parse().ok(),
        })
    };
    let text = match conversion {
        Some('c') => arg.chars().take(1).collect(),
        Some('s') => match precision.map(str::parse::<usize>) {
            Some(Ok(most)) => arg.chars().take(most).collect(),
            _ => arg.to_owned(),
        },
        Some('x') => number().map_or_else(|| arg.to_owned(), |number| format!("{number:x}")),
        Some('X') => number().map_or_else(|| arg.to_owned(), |number| format!("{number:X}")),
        Some('o') => number().map_or_else(|| arg.to_owned(), |number| format!("{number:o}")),
        Some('d' | 'i' | 'u') => number().map_or_else(|| arg.to_owned(), |number| number.to_string()),
        _ => return arg.to_owned(),
    };
    match width.strip_prefix('0').map(str::parse::<usize>) {
        Some(Ok(width)) if width <= 64 => format!("{text:0>width$}"),
        _ => text,
    }
}
