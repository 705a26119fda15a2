//! The output of programs, as far as it follows from their words and their input.

use super::{filters, listing};
use crate::catalogue::base_name;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::grammar::word::ansi_c;
use crate::shell::state::Shell;
use crate::shell::text::{Stretch, Unknown, is_known, stretches};

/// Maximum length in bytes of the commands of a pipeline that are shown before the last one.
const LONGEST_SOURCE: usize = 512;

/// Maximum number of words of a program that may name the files from which it makes its output.
const MOST_SOURCES: usize = 8;
/// Maximum length in bytes of the input of a program with unknown output that is kept.
const LONGEST_INPUT: usize = 64 * 1024;

/// The standard output of a program, with marks for unknown stretches.
pub(crate) fn of(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation, program: &str) -> String {
    let texts = invocation.texts();
    let args = texts.get(1..).unwrap_or_default();
    match program {
        "echo" => Some(echo(args)),
        "printf" => return printf(evaluator, args),
        "tee" | "sponge" => {
            if let Some(text) = &invocation.stdin {
                let append = args.iter().any(|arg| matches!(*arg, "-a" | "--append"));
                for file in args.iter().filter(|arg| !arg.starts_with('-')) {
                    evaluator.store_file(shell, file, text, append);
                }
            }
            invocation.stdin.clone()
        }
        "cat" | "pv" => cat(evaluator, shell, invocation, program),
        "cp" | "mv" | "ln" | "scp" | "install" => {
            evaluator.copy_files(shell, invocation, program);
            Some(String::new())
        }
        "true" | "false" | ":" | "test" | "[" | "sleep" | "mkdir" | "touch" | "rm" | "chmod" | "chown" => {
            Some(String::new())
        }
        "pwd" => shell.cwd.clone().map(|cwd| cwd + "\n"),
        "seq" => seq(args),
        "which" => Some(located(invocation)),
        "basename" if args.iter().all(|arg| is_known(arg)) => match args {
            [path] => Some(format!("{}\n", base_name(path.trim_end_matches('/')))),
            [path, suffix] => {
                let name = base_name(path.trim_end_matches('/'));
                Some(format!("{}\n", name.strip_suffix(suffix).unwrap_or(name)))
            }
            _ => None,
        },
        "dirname" => match args {
            [path] if is_known(path) => {
                Some(format!("{}\n", path.trim_end_matches('/').rsplit_once('/').map_or(".", |(dir, _)| dir)))
            }
            _ => None,
        },
        "sort" | "uniq" | "shuf" | "nl" | "column" if args.iter().all(|arg| arg.starts_with('-')) => {
            invocation.stdin.clone().filter(|_| program != "nl")
        }
        _ => filters::of(evaluator, invocation, program, args),
    }
    .unwrap_or_else(|| unknown(evaluator, shell, invocation, &texts, program))
}

/// What a program makes its output from, in case that is run: its input, or the files that its words may name.
fn made_from(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation) -> Option<String> {
    if let Some(text) = &invocation.stdin {
        return Some(text.clone()).filter(|text| text.len() < LONGEST_INPUT && !text.is_empty());
    }
    let words = invocation.args().filter(|field| !field.text.starts_with('-')).take(MOST_SOURCES);
    let marks: Vec<String> = words.filter_map(|field| evaluator.file_mark(shell, &field.text)).collect();
    Some(marks.join("\n")).filter(|marks| !marks.is_empty())
}

fn unknown(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    texts: &[&str],
    program: &str,
) -> String {
    let mut listing = listing::of(texts, evaluator.catalogue);
    if listing.is_none() && listing::keeps_everything(program, texts) {
        listing =
            invocation.stdin.iter().flat_map(|text| stretches(text)).find_map(|stretch| match stretch {
                Stretch::Mark(index) => {
                    evaluator.unknowns.get(index).and_then(|unknown| unknown.listing.clone())
                }
                Stretch::Known(_) => None,
            });
    }
    let source = evaluator.unknowns.show(&texts.join(" "));
    // The commands before it in a pipeline say where its output comes from.
    let before = invocation.stdin.as_deref().and_then(|text| evaluator.unknowns.only_mark(text));
    let before = before.and_then(|unknown| unknown.source.strip_prefix("$(")?.strip_suffix(')'));
    let source = match before.filter(|before| before.len() < LONGEST_SOURCE) {
        Some(before) => format!("{before} | {source}"),
        None => source,
    };
    let made_from = made_from(evaluator, shell, invocation);
    evaluator.unknowns.mark(Unknown {
        source: format!("$({source})"),
        listing,
        made_from,
        many: true,
        ..Unknown::default()
    })
}

fn echo(args: &[&str]) -> String {
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

fn printf(evaluator: &mut Evaluator, args: &[&str]) -> String {
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

fn cat(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation, program: &str) -> Option<String> {
    let files = invocation.args().filter(|field| field.text == "-" || !field.text.starts_with('-'));
    let files: Vec<&str> = files.map(|field| field.text.as_str()).collect();
    if program != "cat" || files.is_empty() {
        return invocation.stdin.clone();
    }
    let mut text = String::new();
    let mut on_disk = false;
    for file in files {
        let content = match file {
            "-" | "/dev/stdin" => invocation.stdin.clone(),
            _ => evaluator.file_content(shell, file).or_else(|| {
                on_disk = true;
                evaluator.file_mark(shell, file)
            }),
        };
        text.push_str(&content?);
    }
    if !on_disk {
        return Some(text);
    }
    let source = format!("$({})", evaluator.unknowns.show(&invocation.texts().join(" ")));
    Some(evaluator.unknowns.mark(Unknown { source, many: true, contents: Some(text), ..Unknown::default() }))
}

fn seq(args: &[&str]) -> Option<String> {
    let numbers: Vec<i64> = args.iter().map(|arg| arg.parse().ok()).collect::<Option<_>>()?;
    let (first, step, last) = match numbers.as_slice() {
        [last] => (1, 1, *last),
        [first, last] => (*first, 1, *last),
        [first, step, last] if *step != 0 => (*first, *step, *last),
        _ => return None,
    };
    let mut text = String::new();
    let mut number = first;
    for _ in 0..1025 {
        if (step > 0 && number > last) || (step < 0 && number < last) {
            return Some(text);
        }
        text.push_str(&number.to_string());
        text.push('\n');
        number = number.checked_add(step)?;
    }
    // Too many numbers.
    None
}

/// The output of `which docker`, `command -v docker` or `type -P docker`: the names instead of the paths.
pub(crate) fn located(invocation: &Invocation) -> String {
    let names = invocation.args().filter(|field| !field.text.starts_with('-'));
    names.flat_map(|field| [field.text.as_str(), "\n"]).collect()
}
