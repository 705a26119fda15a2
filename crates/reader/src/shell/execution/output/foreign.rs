//! Whose text a program prints: numbers and names that the machine gives, or any text, such as that of a file.

use super::{ids, measured};
use crate::catalogue::program::Prints;
use crate::languages::names::shell as names;
use crate::languages::text::split_at_end;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::execution::files::writing::may_write;
use crate::shell::on_disk::{GLOB, Search};
use crate::shell::script::{Mode, Node};
use crate::shell::state::Shell;
use crate::shell::text::{Stretch, Unknown, is_known, stretches};

/// Maximum number of filters behind each other whose input is looked at.
const DEEPEST: usize = 8;

/// Whether a program with these words prints nothing but digits and blanks.
pub(super) fn is_number(program: &str, texts: &[&str]) -> bool {
    let args = texts.get(1..).unwrap_or_default();
    let has = |words: &[&str]| args.iter().any(|arg| words.contains(arg));
    let is_digits = |set: &str| {
        set.trim_matches(['[', ']', ':']) == "digit" || set.chars().all(|c| "0123456789-.\\n".contains(c))
    };
    match program {
        "wc" => args.iter().all(|arg| arg.starts_with('-')),
        "grep" | "egrep" | "fgrep" | "zgrep" => measured::counts_lines(args),
        "tr" => matches!(args, ["-dc" | "-cd", set] if is_digits(set)),
        "jq" => ids::counts(args),
        "awk" | "gawk" | "mawk" => measured::counts_with_awk(args),
        "redis-cli" => matches!(args, [verb] if verb.eq_ignore_ascii_case("dbsize")),
        "git" => has(&["--count"]) && ids::of_git(texts),
        "curl" => measured::prints_status(args),
        _ => false,
    }
}

/// Whether an agent writes nothing where this path leads. On its own machine and in containers it may
/// write everywhere but in the kernel's folders.
fn is_kept(shell: &Shell, path: &str) -> bool {
    let is_in_container =
        shell.hosts.is_empty() || shell.via.iter().any(|program| names::CONTAINING.has(program));
    let folders = if is_in_container { names::KERNEL_FOLDERS } else { names::KEPT_FOLDERS };
    folders.begin(path) && !path.contains("..")
}

impl Evaluator {
    /// Whether a part of a text may be any text, such as the name of a file in a folder where an agent writes.
    pub fn may_be_any(&mut self, shell: &Shell, text: &str) -> bool {
        let is_name = |unknown: &&Unknown| {
            let source = unknown.source.as_str();
            let is_pattern = source.contains(GLOB) && !source.contains(['$', '`']);
            (unknown.found.is_some() || is_pattern) && !is_kept(shell, source)
        };
        let marks = stretches(text).filter_map(|stretch| match stretch {
            Stretch::Mark(index) => self.unknowns.get(index),
            Stretch::Known(_) => None,
        });
        let searches: Vec<Option<Search>> =
            marks.filter(is_name).map(|unknown| unknown.found.clone()).collect();
        self.unknowns.are_foreign(text)
            || searches
                .into_iter()
                .any(|search| !search.is_some_and(|search| self.finds_plain_names(shell, &search)))
    }

    /// Whether a text may be any when it is used, such as that of a file which is known now.
    pub fn may_become_any(&mut self, shell: &Shell, text: &str) -> bool {
        let unknowns = &self.unknowns;
        let is_open =
            |unknown: &Unknown| unknown.on_disk.as_deref().is_some_and(|path| !is_kept(shell, path));
        let is_of_file = |unknown: &Unknown| {
            // No file has what a program measures, though a word of its may be the name of one.
            let source = unknown.source.strip_prefix("$(").unwrap_or(&unknown.source);
            let is_measured = source.split_whitespace().next().is_some_and(|name| names::MEASURING.has(name));
            let made_from = unknown.made_from.iter().filter(|_| !is_measured);
            let inside = unknown.contents.iter().chain(made_from);
            is_open(unknown) || inside.into_iter().any(|text| unknowns.behind(text).iter().any(&is_open))
        };
        unknowns.behind(text).iter().any(is_of_file) || self.may_be_any(shell, text)
    }

    /// Whether a search finds only files whose names mean nothing to a shell, and no command before it may have made others.
    fn finds_plain_names(&mut self, shell: &Shell, search: &Search) -> bool {
        let Some(disk) = self.disk_of(shell).cloned() else { return false };
        let makes_files = self.has_node(|node| match node {
            Node::Command(command) => {
                command.redirections.iter().any(|file| file.mode != Mode::Read)
                    || may_write(command, |_| true, self.catalogue)
            }
            _ => false,
        });
        let is_plain = |name: &String| name.chars().all(|c| c.is_alphanumeric() || "/._-+@:,=".contains(c));
        !makes_files && self.found_files(search, &*disk).iter().all(is_plain)
    }

    /// The mark of the text of a file that cannot be looked at.
    pub fn unseen_file(&mut self, shell: &Shell, path: &str) -> String {
        // A wildcard names files of its folder.
        let shown = self.unknowns.show(path);
        let source = format!("$(< {shown})");
        if is_kept(shell, &shown) && !self.unknowns.are_foreign(path) {
            let is_any = !names::KERNEL_FOLDERS.begin(&shown);
            self.unknowns.mark(Unknown { source, many: true, is_any, ..Unknown::default() })
        } else {
            self.unknowns.foreign(source)
        }
    }
}

/// Whether what a program prints may be any text, since its input, a file or its words hold that.
pub(super) fn is_foreign(
    evaluator: &Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    program: &str,
    made_from: Option<&str>,
) -> bool {
    // Code can make any character, too.
    let evaluates = |text: &str| text.contains('[') && (text.contains("$(") || text.contains('`'));
    let makes = |text: &str| evaluates(text) || names::MAKING.are_in(text);
    if invocation.args().any(|field| makes(&field.text)) {
        return true;
    }
    if let Some(measures) = measures_here(invocation, program) {
        let states = || {
            program != "git" && !names::COUNTING.has(program) && measured::states_text(invocation, program)
        };
        return !measures || states();
    }
    // A link may lead anywhere.
    if matches!(program, "readlink" | "realpath") {
        return !reads_kept(evaluator, shell, invocation, program);
    }
    // What these print is judged by the folder.
    let lists_files =
        || evaluator.catalogue.find(program).is_some_and(|found| found.prints == Some(Prints::FileNames));
    if names::MEASURING.has(program) || lists_files() {
        let selects = |text: &str| text == "--label" || names::SELECTING.begin(text);
        let is_text =
            |text: &str| names::PRINTING.has(text) || names::WRITTEN_FIELDS.are_in(text) && !selects(text);
        let texts = invocation.texts();
        let is_format = |pair: &[&str]| match pair {
            [before, text] => {
                matches!(*before, "-c" | "-f" | "-o" | "--format" | "--printf") && text.starts_with('-')
            }
            _ => false,
        };
        return texts.windows(2).any(is_format)
            || names::MEASURING.has(program) && measured::states_text(invocation, program)
            || invocation.args().any(|field| is_text(&field.text) || states_text(&field.text));
    }
    if names::CALCULATING.has(program) {
        return has_text(evaluator, shell, invocation);
    }
    if picks_first_column(evaluator, invocation, program) {
        return false;
    }
    if !names::COPYING.has(program) || adds_text(program, &invocation.texts()) {
        return true;
    }
    // A text that it is given is looked at where its output is used.
    let is_changed = |stretch| matches!(stretch, Stretch::Known(text) if text.contains(['[', ']', '(', ')']));
    if let Some(text) = &invocation.stdin {
        return evaluator.unknowns.are_foreign(text) || stretches(text).any(is_changed);
    }
    made_from.is_none_or(|text| !is_known(text)) && !reads_kept(evaluator, shell, invocation, program)
}

/// Whether a program that prints numbers and names only with certain words has these; `None` for other programs.
fn measures_here(invocation: &Invocation, program: &str) -> Option<bool> {
    let texts = invocation.texts();
    let words = texts.get(1..).unwrap_or_default();
    if program == "git" {
        return Some(ids::of_git(&texts));
    }
    if let Some(options) = names::MEASURING_WITH.get(program) {
        return Some(words.iter().any(|word| options.begin(word)));
    }
    if let Some(known) = names::MEASURED_WORDS.get(program) {
        let is_address = |word: &str| !word.starts_with('-') && word.contains(['.', ':']);
        let is_listed = |word: &&str| {
            word.starts_with(['+', '@'])
                || is_address(word)
                || !is_known(word)
                || known.has(&word.to_ascii_lowercase())
        };
        return Some(words.iter().all(is_listed));
    }
    if let Some(columns) = names::MEASURED_COLUMNS.get(program) {
        return Some(measured::has_fixed_columns(words, |column| columns.has(column)));
    }
    names::COUNTING
        .has(program)
        .then(|| measured::asks_once(words, |word| is_count(word) || lists_names(word)))
}

/// Whether a statement asks only for the names of databases and tables: `show databases`.
fn lists_names(statement: &str) -> bool {
    let statement = statement.trim().trim_end_matches(';').to_ascii_lowercase();
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_., ".contains(c));
    let is_listing = |asked: &str| {
        asked.split_once(" from ").is_some_and(|(columns, rest)| {
            let is_other = [";", "--", "/*", "union", ",", "("].iter().any(|part| rest.contains(part));
            let table = rest.split_whitespace().next().unwrap_or_default();
            is_plain(columns) && names::CATALOGUES.has(table) && !is_other
        })
    };
    statement.strip_prefix("show ").is_some_and(|rest| names::SHOWN_NAMES.begin(rest) && is_plain(rest))
        || statement.strip_prefix("select ").is_some_and(is_listing)
}

/// Whether a statement asks only for a number of rows: `select count(*) from x`.
fn is_count(statement: &str) -> bool {
    let statement = statement.trim().to_ascii_lowercase();
    let asked =
        statement.strip_prefix("select ").map(|rest| rest.split(" from ").next().unwrap_or(rest).trim());
    asked.is_some_and(|asked| {
        asked.starts_with("count(") && asked.matches('(').count() == 1 && asked.ends_with(')')
    }) && !statement.contains([';', '\\'])
        && !["union", "/*", "--"].iter().any(|part| statement.contains(part))
}

/// Whether `awk` prints a column of a table that holds numbers and names, with filters between that only leave lines out.
fn picks_first_column(evaluator: &Evaluator, invocation: &Invocation, program: &str) -> bool {
    let texts = invocation.texts();
    let ("awk" | "gawk" | "mawk", [_, code]) = (program, texts.as_slice()) else { return false };
    let source = invocation.stdin.as_deref().and_then(|text| evaluator.unknowns.only_mark(text));
    let source = source.and_then(|unknown| unknown.source.strip_prefix("$(")?.strip_suffix(')'));
    let mut stages = source.unwrap_or_default().split(" | ");
    let first = stages.next().unwrap_or_default();
    let columns = first.split_whitespace().next().and_then(|first| names::FIRST_COLUMNS.get(first));
    let stages: Vec<&str> = stages.collect();
    let column = code.trim().strip_prefix('{').and_then(|code| code.strip_suffix('}')).map(str::trim);
    let column = column.and_then(|code| code.strip_prefix("print ")).map(str::trim).unwrap_or_default();
    columns.is_some_and(|columns| columns.has(column))
        && !first.contains([';', '&', '<'])
        && measured::is_listing(first, &stages)
}

/// Whether a filter prints parts of its input, or of files, that may be any text until these are read.
pub(super) fn may_print_any(evaluator: &Evaluator, invocation: &Invocation, program: &str) -> bool {
    if !names::COPYING.has(program) || picks_first_column(evaluator, invocation, program) {
        return false;
    }
    if let Some(text) = &invocation.stdin {
        return evaluator.unknowns.are_any(text);
    }
    let texts = invocation.texts();
    let mut files = texts.iter().skip(1).filter(|word| word.starts_with('/')).peekable();
    files.peek().is_none() || !files.all(|file| names::KERNEL_FOLDERS.begin(file) && !file.contains(".."))
}

/// Whether a word states a text that may be an option or a path where it is printed: `--printf=-exec`, `-c "/etc/%n"`.
fn states_text(word: &str) -> bool {
    let format = word.split_once('=').map_or(word, |(_, value)| value);
    let is_option = |text: &str| {
        text.starts_with('-') && text.get(1..).is_some_and(|rest| rest.starts_with(char::is_alphabetic))
    };
    let has_option = [" -", "'-", "\"-", "}-"].iter().any(|before| {
        format.match_indices(before).any(|(at, _)| format.get(at + 1..).is_some_and(is_option))
    });
    has_option
        || format.len() < word.len() && is_option(format)
        || format.contains('/') && format.contains(['%', '{']) && !format.contains("://")
        || ["'/", "\"/"].iter().any(|path| format.contains(path))
}

/// Whether a filter adds text of the script to what it prints: `sed s,.*,-exec,`.
fn adds_text(program: &str, texts: &[&str]) -> bool {
    let is_text = |c: char| c.is_alphanumeric() || "-/.~".contains(c);
    let words = || texts.iter().skip(1).copied();
    match program {
        "grep" | "egrep" | "fgrep" => words().any(|word| word.starts_with("--lab")),
        "sed" => words().filter(|word| !word.starts_with('-')).take(1).any(sed_adds_text),
        "awk" | "gawk" | "mawk" => words().any(|code| {
            let mut pieces = code.split('"');
            let mut before = pieces.next().unwrap_or_default();
            let mut adds = false;
            while let Some(quoted) = pieces.next() {
                let is_compared =
                    before.trim_end().ends_with(['=', '~', '[', ',', '(']) && !before.contains("print");
                adds |= !is_compared && quoted.contains(is_text);
                before = pieces.next().unwrap_or_default();
            }
            adds
        }),
        "jq" | "yq" => words().any(|code| {
            let mut pieces = code.split('"');
            let mut before = pieces.next().unwrap_or_default();
            let mut adds = false;
            while let Some(quoted) = pieces.next() {
                adds |= !before.trim_end().ends_with(['=', '[', '.', '(']) && quoted.contains(is_text);
                before = pieces.next().unwrap_or_default();
            }
            adds
        }),
        "tr" => {
            let sets: Vec<&str> = words().filter(|word| !word.starts_with('-') || *word == "-").collect();
            let is_case =
                |set: &str| matches!(set, "a-z" | "A-Z" | "[a-z]" | "[A-Z]" | "[:lower:]" | "[:upper:]");
            sets.get(1).is_some_and(|set| !is_case(set) && set.replace("\\n", "").contains(is_text))
        }
        "paste" => {
            words()
                .any(|word| word.starts_with("-d") && word.get(2..).is_some_and(|set| set.contains(is_text)))
                || texts.windows(2).any(|pair| matches!(pair, ["-d" | "-sd", set] if set.contains(is_text)))
        }
        _ => false,
    }
}

/// Whether code of `sed` adds text.
fn sed_adds_text(code: &str) -> bool {
    let is_text = |c: char| c.is_alphanumeric() || "-/.~".contains(c);
    let mut rest = code.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == '{' || c == '}');
    // An address: numbers, `$`, or a pattern.
    while let Some(c) = rest.chars().next() {
        match c {
            '/' => match split_at_end(rest.get(1..).unwrap_or_default(), "/") {
                Some((_, after)) => rest = after,
                None => return true,
            },
            c if c.is_ascii_digit() || ",$!~+ I".contains(c) => rest = rest.get(1..).unwrap_or_default(),
            _ => break,
        }
    }
    let Some(command) = rest.chars().next() else { return false };
    let after = rest.get(command.len_utf8()..).unwrap_or_default();
    match command {
        's' => {
            let Some(delimiter) = after.chars().next() else { return true };
            let end = delimiter.to_string();
            let inner = after.get(delimiter.len_utf8()..).unwrap_or_default();
            let Some((_, replaced)) = split_at_end(inner, &end) else { return true };
            let Some((with, behind)) = split_at_end(replaced, &end) else { return true };
            // `\\1` and `&` are parts of the input.
            let mut plain = String::new();
            let mut chars = with.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\\' => match chars.next() {
                        Some(c) if c.is_ascii_digit() || c == 'n' || c == 't' => {}
                        Some(c) => plain.push(c),
                        None => {}
                    },
                    c => plain.push(c),
                }
            }
            let flags = behind.trim_start_matches(|c: char| c.is_ascii_digit() || "gpIiM".contains(c));
            plain.contains(is_text)
                || !flags.is_empty() && !flags.starts_with([';', '\n', '}', ' '])
                || sed_adds_text(flags)
        }
        'p' | 'd' | 'q' | 'n' | 'N' | 'D' | 'P' | '=' | 'h' | 'H' | 'g' | 'G' | 'x' | '{' | '}' | ';' => {
            sed_adds_text(after)
        }
        '#' => false,
        _ => true,
    }
}

/// Whether the code that a calculator gets may have a text in quotes, which it prints.
fn has_text(evaluator: &Evaluator, shell: &Shell, invocation: &Invocation) -> bool {
    let reads_file = invocation.args().any(|field| !field.text.starts_with('-'));
    reads_file || invocation.stdin.as_ref().is_none_or(|code| may_have_text(evaluator, shell, code, DEEPEST))
}

/// Whether a text may have one in quotes. `depth` is the number of filters behind each other that are looked through.
fn may_have_text(evaluator: &Evaluator, shell: &Shell, code: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    stretches(code).any(|stretch| match stretch {
        Stretch::Known(text) => text.contains('"') || text.contains("print"),
        Stretch::Mark(index) => evaluator.unknowns.get(index).is_none_or(|unknown| {
            let input = unknown.filter.as_ref().map(|filter| &filter.input);
            unknown.is_foreign
                || unknown.on_disk.as_ref().is_some_and(|path| !is_kept(shell, path))
                || unknown
                    .contents
                    .iter()
                    .chain(input)
                    .any(|text| may_have_text(evaluator, shell, text, depth))
        }),
    })
}

/// Whether all files that a filter reads are in folders where an agent writes nothing.
fn reads_kept(evaluator: &Evaluator, shell: &Shell, invocation: &Invocation, program: &str) -> bool {
    // A number or a mark behind an option is its value: `cut -d : -f 1`.
    let is_value =
        |text: &str| text.chars().all(|c| c.is_ascii_digit() || c.is_ascii_punctuation() || c == ' ');
    let words: Vec<&str> = invocation.texts();
    let operands = words.iter().zip(words.iter().skip(1)).filter(|(before, word)| {
        !(word.starts_with('-') || before.starts_with('-') && is_value(word) && program != "cat")
    });
    // The first operand of some is code.
    let code = usize::from(names::CODED.has(program));
    let mut files = operands.map(|(_, word)| *word).skip(code).peekable();
    // A wildcard names files of its folder.
    files.peek().is_some()
        && files.all(|file| {
            is_kept(shell, &evaluator.unknowns.show(file)) && !evaluator.unknowns.are_foreign(file)
        })
}
