//! Whether programs that print numbers and names print text that their words state, or names that a session chooses.

use crate::languages::awk;
use crate::languages::names::shell as names;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::on_disk::GLOB;
use crate::shell::text::is_known;

/// Signs that mean something to a shell or in arithmetic.
const SIGNS: &str = ";|&$()<>`'\"\\[]\n";

/// Whether a word states text that a shell would not take for a plain word: `stat -c ';reboot'`. Of code in braces, only its texts are
/// printed.
pub(super) fn states_signs(word: &str) -> bool {
    let mut depth = 0_i32;
    let mut quote = None;
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('{', None) => depth += 1,
            ('}', None) => depth -= 1,
            ('"' | '\'' | '`', None) if depth > 0 => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            // `{"\n"}`, `\t` of a format.
            ('\\', _) if chars.peek().is_some_and(|next| "nt".contains(*next)) => drop(chars.next()),
            (c, None) if depth > 0 && c != '\n' => {}
            (c, _) if SIGNS.contains(c) => return true,
            _ => {}
        }
    }
    depth != 0 || quote.is_some()
}

/// Whether a program prints names of files or processes that its words choose without stating them.
pub(super) fn names_others(program: &str, texts: &[&str]) -> bool {
    let args = texts.get(1..).unwrap_or_default();
    if !names::ECHOING_NAMES.has(program) {
        return false;
    }
    let has = |letters: &[char], long: &[&str]| {
        args.iter().any(|arg| {
            let name = arg.split('=').next().unwrap_or_default();
            long.contains(&name) || arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letters)
        })
    };
    // These print what a form states, of what their words name.
    if program == "stat" && prints_no_names(args) {
        return false;
    }
    let is_date = |at: usize| {
        program == "date" && at > 0 && args.get(at - 1).is_some_and(|option| names::DATE_VALUES.has(option))
    };
    let is_open = match program {
        "du" => !has(&['s'], &["--summarize"]) || has(&['a', 'X'], &["--all", "--time", "--time-style"]),
        "pgrep" => has(&['a', 'l', 'd'], &["--list-full", "--list-name", "--delimiter"]),
        _ => false,
    };
    let behind_dashes = args.iter().skip_while(|arg| **arg != "--").skip(1).any(|arg| arg.starts_with('-'));
    let is_chosen = |arg: &&str| !arg.starts_with('-') && (!is_known(arg) || arg.contains(GLOB));
    let mut chosen = args.iter().enumerate().filter(|(_, arg)| is_chosen(arg));
    is_open || behind_dashes || chosen.any(|(at, _)| !is_date(at))
}

/// Whether a form of `stat` is known and has no names of files.
fn prints_no_names(args: &[&str]) -> bool {
    let attached =
        |arg: &'_ &str| arg.strip_prefix("--format=").or(arg.strip_prefix("--printf=")).map(str::to_owned);
    let beside = args.windows(2).filter(|pair| matches!(pair, ["-c" | "--format" | "--printf", _]));
    let forms = beside.filter_map(|pair| pair.get(1)).map(|form| (*form).to_owned());
    let forms: Vec<String> = forms.chain(args.iter().filter_map(attached)).collect();
    !forms.is_empty() && forms.iter().all(|form| is_known(form) && !form.contains(['n', 'N', 'm']))
}

/// Whether `ps` prints only columns that hold numbers and names of users: those that its options state.
pub(super) fn has_fixed_columns(args: &[&str], is_fixed: impl Fn(&str) -> bool) -> bool {
    let mut stated: Vec<&str> = Vec::new();
    let mut words = args.iter().copied().enumerate();
    while let Some((at, word)) = words.next() {
        let long = word.strip_prefix("--format");
        let letters = word.strip_prefix('-').unwrap_or(if at == 0 { word } else { "" });
        let value = match long {
            Some("") => words.next().map(|(_, value)| value),
            Some(value) => value.strip_prefix('='),
            None if word.starts_with("--") => continue,
            None => match letters.split_once(['o', 'O']) {
                Some((_, "")) => words.next().map(|(_, value)| value),
                Some((_, value)) => Some(value),
                None => continue,
            },
        };
        let Some(value) = value else { return false };
        stated.push(value);
    }
    !stated.is_empty()
        && stated
            .iter()
            .flat_map(|value| value.split([',', ' ']))
            .all(|column| is_fixed(column.trim_end_matches('=')))
}

/// Whether a client of a database gets one statement, and no option that prints other text. `asks` states whether a statement asks
/// for nothing but numbers and names of tables.
pub(super) fn asks_once(words: &[&str], asks: impl Fn(&str) -> bool) -> bool {
    let mut statements = 0;
    let mut others = 0;
    let mut left = words.iter().copied();
    while let Some(word) = left.next() {
        if names::COUNT_VALUES.has(word) {
            left.next();
        } else if word.starts_with('-') {
            if !names::COUNT_FLAGS.has(word) && !names::COUNT_ATTACHED.begin(word) {
                return false;
            }
        } else if asks(word) {
            statements += 1;
        } else {
            others += usize::from(word.contains(char::is_whitespace) || word.starts_with('.')) + 1;
        }
    }
    statements == 1 && others < 2
}

/// Whether `awk` prints only what its code counts. An operand with `=` sets a variable: `n=+inf`.
pub(super) fn counts_with_awk(args: &[&str]) -> bool {
    let mut words = args.iter();
    let code = loop {
        match words.next() {
            Some(&"-F") => drop(words.next()),
            Some(word) if word.starts_with("-F") => {}
            word => break word,
        }
    };
    let is_file = |word: &&str| {
        is_known(word)
            && !word.starts_with('-')
            && (word.starts_with('/') || !word.contains(['=', '*', '?', '[']))
    };
    code.is_some_and(|code| is_known(code) && awk::only_counts(code)) && words.all(is_file)
}

/// Whether `grep -c` prints one number: that of one file, without its name.
pub(super) fn counts_lines(args: &[&str]) -> bool {
    let is_flags = |arg: &str| {
        arg == "--count"
            || arg.strip_prefix('-').is_some_and(|letters| letters.chars().all(|c| "civwxEFhs".contains(c)))
    };
    let (flags, operands): (Vec<&str>, Vec<&str>) =
        args.iter().copied().partition(|arg| arg.starts_with('-'));
    let counts = flags.iter().any(|flag| *flag == "--count" || flag.contains('c'));
    let file = operands.get(1).copied().unwrap_or_default();
    counts
        && flags.iter().all(|flag| is_flags(flag))
        && operands.len() < 3
        && is_known(file)
        && !file.contains(GLOB)
}

/// Whether `curl` prints the status of one response, and nothing else.
pub(super) fn prints_status(args: &[&str]) -> bool {
    let (mut discards, mut states, mut addresses) = (0, 0, 0);
    let mut left = args.iter().copied();
    while let Some(word) = left.next() {
        match word {
            "-o" | "-so" | "-sko" | "-sSo" | "--output" if left.next() == Some("/dev/null") => discards += 1,
            "-w" | "--write-out" => {
                let form = left.next().unwrap_or_default().trim_end_matches("\\n");
                states += 1;
                if !matches!(form, "%{http_code}" | "%{response_code}") {
                    return false;
                }
            }
            "-w%{http_code}" => states += 1,
            word if names::STATUS_VALUES.has(word) => drop(left.next()),
            word if names::STATUS_FLAGS.has(word) => {}
            word if word.starts_with('-') => return false,
            _ => addresses += 1,
        }
    }
    (discards, states, addresses) == (1, 1, 1)
}

/// Whether a command before a filter prints a table with fixed first columns, and the filters between get nothing but that.
pub(super) fn is_listing(first: &str, stages: &[&str]) -> bool {
    let has_form = first.split_whitespace().skip(1).any(|word| word.contains('o') || word.contains("format"));
    let leaves_out = |stage: &&str| {
        let words: Vec<&str> = stage.split_whitespace().collect();
        let Some((name, words)) = words.split_first() else { return false };
        let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit() || "+-".contains(c));
        let operands = words.iter().filter(|word| !word.starts_with('-') && !is_number(word)).count();
        let cuts = |word: &str| word.starts_with('-') && word.contains(['o', 'c', 'b', 'f']);
        let most = usize::from(name.ends_with("grep"));
        names::LEAVING_OUT.has(name) && operands <= most && !words.iter().any(|word| cuts(word))
    };
    let has_columns = !first.starts_with("ps") || !has_form;
    has_columns && stages.iter().all(leaves_out)
}

/// Whether words of a program that measures state a text, or choose names.
pub(super) fn states_text(invocation: &Invocation, program: &str) -> bool {
    let texts = invocation.texts();
    let is_described = texts.contains(&"inspect")
        && !texts.iter().any(|text| text.starts_with("-f") || text.starts_with("--format"));
    is_described || texts.iter().skip(1).any(|text| states_signs(text)) || names_others(program, &texts)
}
