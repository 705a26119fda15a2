//! The output of programs, as far as it follows from their words and their input.

use std::sync::Arc;

use super::{columns, echo, filters, foreign, ids, jq, listing};
use crate::catalogue::base_name;
use crate::languages::names::shell as names;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::state::Shell;
use crate::shell::text::{Field, Filter, Listing, Stretch, Unknown, is_all_unknown, is_known, stretches};

/// Maximum length in bytes of the commands of a pipeline that are shown before the last one.
const LONGEST_SOURCE: usize = 512;

/// Maximum number of words of a program that may name the files from which it makes its output.
const MOST_SOURCES: usize = 8;
/// Maximum length in bytes of an input that all filters follow.
const LONGEST_FOLLOWED: usize = 16 * 1024;
/// Maximum length in bytes of the input of a program with unknown output that is kept.
const LONGEST_INPUT: usize = 64 * 1024;
/// Maximum number of numbers that `seq` prints one by one: as many runs are followed.
const MOST_NUMBERS: usize = 256;

/// The standard output of a program, with marks for unknown stretches.
pub(crate) fn of(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation, program: &str) -> String {
    let fed = evaluator.fed_by_files(shell, invocation, program);
    let invocation = fed.as_ref().unwrap_or(invocation);
    let texts = invocation.texts();
    let args = texts.get(1..).unwrap_or_default();
    match program {
        "echo" => Some(echo::echo(args, shell.echoes_escapes)),
        // Shells that only know POSIX read fewer escapes.
        "printf" if shell.echoes_escapes && args.iter().any(|arg| names::BASH_ESCAPES.are_in(arg)) => None,
        "printf" => return echo::printf(evaluator, args),
        "tee" | "sponge" => {
            if let Some(text) = &invocation.stdin {
                let append = args.iter().any(|arg| arg.starts_with('-'));
                for file in args.iter().filter(|arg| !arg.starts_with('-')) {
                    evaluator.store_file(shell, file, text, append);
                }
            }
            invocation.stdin.clone()
        }
        "cat" | "pv" => cat(evaluator, shell, invocation, program),
        "cp" | "mv" | "ln" | "scp" | "install" | "rsync" => {
            let reading = Shell { stdin: invocation.stdin.clone(), ..shell.clone() };
            evaluator.copy_files(&reading, invocation, program);
            nothing(args).filter(|_| program != "rsync" || args.len() > 1)
        }
        "mkfifo" | "mknod" => {
            for field in invocation.args().filter(|field| !field.text.starts_with('-')) {
                evaluator.store_pipe(shell, &field.text);
            }
            nothing(args)
        }
        "dd" => blocks(evaluator, shell, invocation),
        "split" => {
            split(evaluator, shell, invocation);
            nothing(args)
        }
        "date" if matches!(args, [format] if is_known(format) && !format.contains('%')) => {
            args.concat().strip_prefix('+').map(|text| format!("{text}\n"))
        }
        "jq" | "yq" => jq::printed(invocation.stdin.as_deref(), args, program == "yq"),
        "yes" if args.len() < 8 => {
            let line = if args.is_empty() { "y".to_owned() } else { args.join(" ") };
            Some(format!("{line}\n").repeat(filters::MOST_YES))
        }
        "m4" => columns::expanded(invocation.stdin.as_deref(), args),
        "paste" | "join" | "comm" => columns::of(evaluator, shell, invocation, program),
        "envsubst" => substituted(evaluator, shell, invocation, args),
        "true" | "false" | ":" | "test" | "["
            if !args.iter().any(|arg| matches!(*arg, "--help" | "--version")) =>
        {
            Some(String::new())
        }
        "sleep" | "mkdir" | "touch" | "rm" | "chmod" | "chown" => nothing(args),
        "pwd" => shell.places().map(|places| evaluator.one_of(places, "$PWD") + "\n"),
        "seq" => seq(args),
        "which" => Some(located(invocation, "/usr/bin/")),
        "basename" if args.iter().all(|arg| is_known(arg) && !arg.starts_with('-')) => match args {
            [path] => Some(format!("{}\n", base_name(path.trim_end_matches('/')))),
            [path, suffix] => {
                let name = base_name(path.trim_end_matches('/'));
                Some(format!("{}\n", name.strip_suffix(suffix).unwrap_or(name)))
            }
            _ => None,
        },
        "dirname" => match args {
            [path] if is_known(path) && !path.starts_with('-') => Some(format!("{}\n", folder_of(path))),
            _ => None,
        },
        "shuf" if !args.is_empty() => None,
        "sort" | "shuf" | "uniq" if args.iter().all(|arg| arg.starts_with('-')) => {
            invocation.stdin.as_ref().and_then(|text| sorted(text, program, args))
        }
        "column" => invocation.stdin.as_deref().and_then(|text| aligned(text, args)),
        _ => filters::of(evaluator, invocation, program, args),
    }
    .unwrap_or_else(|| unknown(evaluator, shell, invocation, &texts, program))
}

/// What `dirname` prints.
fn folder_of(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit_once('/').map(|(folder, _)| folder.trim_end_matches('/')) {
        Some("") => "/",
        Some(folder) => folder,
        None if path.starts_with('/') => "/",
        None => ".",
    }
}

/// One line as `column -t` prints it: the separators of several lines become as wide as their longest fields.
fn aligned(text: &str, args: &[&str]) -> Option<String> {
    let options = args.concat();
    let separators = options.strip_prefix("-t")?;
    let stated = separators.strip_prefix("-s").or(separators.strip_prefix('s'));
    let separators = stated.or_else(|| separators.is_empty().then_some(""))?;
    let is_certain = !separators.contains(['-', ' ']) && text.lines().count() < 2;
    (is_certain || !is_known(text)).then(|| text.replace(|c| separators.contains(c), "  "))
}

/// The empty output of a program that changes files, unless an option may let it say what it does.
fn nothing(args: &[&str]) -> Option<String> {
    let is_quiet = |arg: &&str| {
        let name = arg.split('=').next().unwrap_or_default();
        let letters = arg.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or("?");
        let is_letter = |letter: char| letter.is_ascii_digit() || names::QUIET.has(&format!("-{letter}"));
        is_known(arg) && (names::QUIET.has(name) || letters.chars().all(is_letter))
            || !arg.starts_with('-') && !is_all_unknown(arg)
    };
    args.iter().all(is_quiet).then(String::new)
}

/// The lines of a text in the order in which `sort` or `uniq` prints them; `None` where that is not known.
fn sorted(text: &str, program: &str, args: &[&str]) -> Option<String> {
    if text.lines().count() < 2 || program == "uniq" && args.is_empty() {
        return Some(text.to_owned()).filter(|_| program != "uniq" || args.is_empty());
    }
    let is_plain = args.iter().all(|arg| matches!(*arg, "-r" | "-u" | "-ru" | "-ur"));
    // Other characters come in the order of a language.
    let is_letter = |c: char| c.is_ascii_lowercase() || c == '\n';
    if program != "sort" || !is_plain || !text.chars().all(is_letter) {
        return Some(text.to_owned()).filter(|text| program == "sort" && !is_known(text));
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    if args.iter().any(|arg| arg.contains('r')) {
        lines.reverse();
    }
    if args.iter().any(|arg| arg.contains('u')) {
        lines.dedup();
    }
    Some(lines.into_iter().flat_map(|line| [line, "\n"]).collect())
}

/// What a filter with these words prints for an input, which may be unknown.
pub(crate) fn filtered(evaluator: &Evaluator, words: &[String], input: String) -> Option<String> {
    let (program, _) = words.split_first()?;
    let one = Invocation::of(words.iter().map(Field::literal).collect(), Some(input));
    let texts = one.texts();
    let args = texts.get(1..).unwrap_or_default();
    match program.as_str() {
        "jq" | "yq" => jq::printed(one.stdin.as_deref(), args, program == "yq"),
        _ => filters::of(evaluator, &one, program, args),
    }
}

/// A filter that reads files of this machine, which are read when its output is run.
fn deferred(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    program: &str,
) -> Option<Filter> {
    if invocation.stdin.is_none() && !names::FILTERS.has(program) {
        return None;
    }
    let mut words: Vec<String> = invocation.texts().into_iter().map(str::to_owned).collect();
    let input = if let Some(text) = &invocation.stdin {
        text.clone()
    } else {
        let file = words.pop_if(|last| !last.starts_with('-'))?;
        evaluator.file_mark(shell, &file)?
    };
    (!is_known(&input)).then_some(Filter { words, input, is_edit: false })
}

/// Whether a text may be a whole command: at least three words, none of which is filled in.
fn is_whole(text: &str) -> bool {
    text.split_whitespace().count() > 2 && !text.ends_with(' ') && !text.contains(['$', '%', '{', '(', '&'])
}

/// What a program makes its output from, in case that is run: its input, or the files that its words may name.
fn made_from(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    program: &str,
) -> Option<String> {
    let fits = |text: &String| text.len() < LONGEST_INPUT && !text.is_empty();
    if let Some(text) = &invocation.stdin {
        evaluator.spend(text.len() / 1024);
        // A program that unpacks needs what was packed.
        let is_packer = names::PACKERS.get(program).is_some();
        return Some(if is_packer { text.clone() } else { evaluator.unknowns.sources(text) }).filter(fits);
    }
    let mut texts = Vec::new();
    let mut is_program = false;
    for field in invocation.args().take(MOST_SOURCES) {
        if field.text.starts_with('-') {
            is_program = field.text == "-f";
            continue;
        }
        // Code is no name of a file; a text in it may be what it prints: `perl -e 'print "docker restart web"'`, `jq -f x.jq`.
        let file =
            if std::mem::take(&mut is_program) { evaluator.read_data(shell, &field.text) } else { None };
        let code =
            file.or_else(|| Some(field.text.clone()).filter(|text| text.contains(char::is_whitespace)));
        if let Some(code) = code {
            let pieces = code.split(['"', '\'']).filter(|piece| is_whole(piece));
            let pieces = pieces.map(|piece| piece.trim_end_matches("\\n"));
            let acts = |piece: &&str| {
                let program = piece.split_whitespace().next().unwrap_or_default();
                !program.contains('/') && evaluator.mentions_action(program)
            };
            texts.extend(pieces.filter(acts).map(str::to_owned));
            continue;
        }
        let content = evaluator.file_content(shell, &field.text);
        let content = content.map(|text| evaluator.unknowns.sources(&text));
        texts.extend(content.or_else(|| evaluator.file_mark(shell, &field.text)));
    }
    Some(texts.join("\n")).filter(fits)
}

fn unknown(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    texts: &[&str],
    program: &str,
) -> String {
    let mut listing = listing::of(texts, evaluator.catalogue);
    let selected = listing::selected(program, texts);
    if listing.is_none() && (selected.is_some() || listing::keeps_everything(program, texts)) {
        listing =
            invocation.stdin.iter().flat_map(|text| stretches(text)).find_map(|stretch| match stretch {
                Stretch::Mark(index) => {
                    evaluator.unknowns.get(index).and_then(|unknown| unknown.listing.clone())
                }
                Stretch::Known(_) => None,
            });
        listing = match (listing, selected) {
            (Some(Listing::Everything(_)), Some(name)) => Some(Listing::Matching(name.to_owned())),
            (_, Some(_)) => None,
            (listing, None) => listing,
        };
    }
    let source = evaluator.unknowns.show(&texts.join(" "));
    // The commands before it in a pipeline say where its output comes from.
    let before = invocation.stdin.as_deref().and_then(|text| evaluator.unknowns.only_mark(text));
    let before = before.and_then(|unknown| unknown.source.strip_prefix("$(")?.strip_suffix(')'));
    let source = match before.filter(|before| before.len() < LONGEST_SOURCE) {
        // It gets a file itself.
        Some(before) if before.starts_with("< ") => format!("{source} {before}"),
        Some(before) => format!("{before} | {source}"),
        None => source,
    };
    let is_number =
        foreign::is_number(program, texts) || ids::are_picked(program, texts, before.unwrap_or_default());
    let made_from = if is_number { None } else { made_from(evaluator, shell, invocation, program) };
    let filter = deferred(evaluator, shell, invocation, program).map(Arc::new);
    // A filter prints a line for each line, a search one for each file, and code with a loop several.
    let lines = |text: &String| !is_known(text) || text.lines().count() > 1;
    let input = invocation.stdin.as_ref().or(made_from.as_ref());
    let is_code = texts.iter().skip(1).any(|word| word.contains(char::is_whitespace));
    let loops = || names::LOOPS.are_in(&texts.join(" ")) && is_code;
    let repeats = input.is_some_and(lines) || names::LISTING.has(program) || loops();
    // A text that is too long to be followed.
    let is_long = !is_number
        && !names::MEASURING.has(program)
        && invocation.stdin.as_ref().is_some_and(|text| text.len() > LONGEST_FOLLOWED);
    let is_foreign = is_long
        || !is_number && foreign::is_foreign(evaluator, shell, invocation, program, made_from.as_deref());
    // What it is given as a form is text of the script.
    let has_form = texts.iter().any(|text| text.starts_with("-f") || text.starts_with("--format"));
    let is_described = texts.contains(&"inspect") && !has_form;
    let states_text = is_foreign && names::MEASURING.has(program) && !source.contains(" | ") && !is_described;
    let is_any = is_long || !is_number && foreign::may_print_any(evaluator, invocation, program);
    evaluator.unknowns.mark(Unknown {
        is_any,
        source: if states_text { format!("$(computed {source})") } else { format!("$({source})") },
        is_foreign,
        listing,
        made_from,
        filter,
        many: true,
        repeats,
        ..Unknown::default()
    })
}

fn cat(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation, program: &str) -> Option<String> {
    let is_option =
        |field: &&Field| field.text.starts_with('-') && !matches!(field.text.as_str(), "-" | "-u" | "--");
    if program == "cat" && invocation.args().any(|field| is_option(&field)) {
        return None;
    }
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

/// The output of `dd`, which copies `if=` or its input to `of=` or its output.
fn blocks(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation) -> Option<String> {
    let texts = invocation.texts();
    let value = |name: &str| texts.iter().rev().find_map(|word| word.strip_prefix(name));
    let is_plain = |word: &&str| ["if=", "of=", "bs=", "status="].iter().any(|name| word.starts_with(name));
    let is_cut = !texts.iter().skip(1).all(is_plain);
    let text = match value("if=") {
        Some(file) => evaluator
            .file_content(shell, file)
            .or_else(|| evaluator.file_mark(shell, file))
            .filter(|_| !is_cut),
        None => invocation.stdin.clone().filter(|_| !is_cut),
    };
    let Some(file) = value("of=") else { return text };
    if let Some(text) = text {
        evaluator.store_file(shell, file, &text, false);
    }
    Some(String::new())
}

/// Stores the files that `split` makes of its input. Pieces of another size than lines, and those beyond the last letter,
/// are in the last file.
fn split(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation) {
    let Some(text) = invocation.stdin.as_deref().filter(|text| is_known(text)) else { return };
    let texts = invocation.texts();
    let Some(usage) = evaluator.catalogue.usage(&texts, &|_| false) else { return };
    let given = usage.operands(&texts);
    let value = |option: &str| {
        given.options.iter().find_map(|(name, at)| at.filter(|_| name.is_any(&[option]))?.of(&texts))
    };
    let size = value("-l").or(value("--lines")).and_then(|size| size.parse().ok()).filter(|size| *size > 0);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let pieces: Vec<String> = lines.chunks(size.unwrap_or(usize::MAX)).map(<[&str]>::concat).collect();
    let prefix = given.words().filter(|word| *word != "-").last().unwrap_or("x").to_owned();
    let is_counted = given.options.iter().any(|(name, _)| name.is_any(&["-d", "--numeric-suffixes"]));
    for (at, piece) in pieces.iter().enumerate() {
        let letter = u8::try_from(at).ok().filter(|at| *at < 26).map_or('z', |at| char::from(b'a' + at));
        let name = if is_counted { format!("{prefix}{at:02}") } else { format!("{prefix}a{letter}") };
        evaluator.store_file(shell, &name, piece, at > 25);
    }
}

/// The output of `envsubst`: its input with the values of exported variables, of all or of those that a word names.
fn substituted(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    args: &[&str],
) -> Option<String> {
    let text =
        invocation.stdin.as_deref().filter(|_| args.len() < 2 && args.iter().all(|arg| is_known(arg)))?;
    let named = args.first().map(|arg| arg.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')));
    let named: Option<Vec<&str>> = named.map(Iterator::collect);
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let inside = after.strip_prefix('{');
        let body = inside.unwrap_or(after);
        let end = body.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(body.len());
        let (name, tail) = body.split_at(end);
        let tail = if inside.is_some() { tail.strip_prefix('}') } else { Some(tail) };
        let is_chosen = named.as_ref().is_none_or(|named| named.contains(&name));
        let Some(tail) = tail.filter(|_| !name.is_empty() && is_chosen) else {
            out.push('$');
            rest = after;
            continue;
        };
        let exported = shell.get(name).filter(|variable| variable.exported);
        let value = exported.and_then(|_| Evaluator::variable_text(shell, name));
        out.push_str(&value.unwrap_or_else(|| evaluator.unknowns.plain(format!("${name}"))));
        rest = tail;
    }
    out.push_str(rest);
    Some(out)
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
    for _ in 0..=MOST_NUMBERS {
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

/// The output of `which docker` and `type -P docker`, which name a file also where a function has the name, or of
/// `command -v docker`, without a folder.
pub(crate) fn located(invocation: &Invocation, folder: &str) -> String {
    let names = invocation.args().map(|field| field.text.as_str()).filter(|name| !name.starts_with('-'));
    names.flat_map(|name| [if name.contains('/') { "" } else { folder }, name, "\n"]).collect()
}
