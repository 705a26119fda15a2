//! Builtins that give what they read or print to variables: `read`, `mapfile` and `printf -v`.

use super::invocation::Invocation;
use crate::shell::evaluator::{Evaluator, Sharing};
use crate::shell::execution::output::printed;
use crate::shell::execution::output::redirect::descriptor;
use crate::shell::options::{At, Item, Scanner};
use crate::shell::programs::quoted;
use crate::shell::state::{Shell, Value};
use crate::shell::text::{Field, Origin, is_known, is_name};

/// What separates words without `IFS`.
const BLANKS: [char; 3] = [' ', '\t', '\n'];

/// Maximum number of lines for which `mapfile -C` runs its command.
const MOST_CALLBACKS: usize = 16;

/// `read NAME…`.
pub(crate) fn read(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    let before = shell.clone();
    let texts = invocation.texts();
    let scanner = Scanner::new(&texts, 1, &["-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"]);
    let mut names: Vec<String> = Vec::new();
    let (mut array, mut source, mut end) = (None, None, '\n');
    // Whether it keeps backslashes, sets its variables in any case, and takes a whole line.
    let (mut is_raw, mut is_certain, mut is_whole) = (false, true, true);
    for item in scanner {
        let value = |at: At| invocation.word(at.index).and_then(|word| word.get(at.offset..));
        match item {
            Item::Positional(index) => names.extend(invocation.word(index).map(str::to_owned)),
            Item::Option(name, Some(at)) if name.is("-a") => array = value(at).map(str::to_owned),
            Item::Option(name, Some(at)) if name.is("-d") => {
                end = value(at).and_then(|text| text.chars().next()).unwrap_or('\0');
            }
            Item::Option(name, Some(at)) if name.is("-u") => {
                source = value(at).map(descriptor);
                is_certain = false;
            }
            Item::Option(name, _) if name.is("-r") => is_raw = true,
            Item::Option(name, _) if name.is_any(&["-p", "-i", "-s", "-e"]) => {}
            // An unknown option, a wrong value or a time limit keeps it from setting anything.
            Item::Option(..) => (is_certain, is_whole) = (false, false),
            Item::Dashes(_) => {}
        }
    }
    is_certain &= names.iter().chain(&array).all(|name| is_name(name.split('[').next().unwrap_or_default()));
    let name = names.first().map_or("REPLY", String::as_str);
    let unknown = evaluator.unknowns.plain(format!("${name}"));
    let mut line = first_line(evaluator, shell, invocation, (source.as_deref(), end)).unwrap_or_else(|| {
        let is_stated = source.is_some();
        let shown = if is_stated { format!("$(computed ${name})") } else { format!("${name}") };
        evaluator.unknowns.foreign(shown)
    });
    let separator = Evaluator::variable_text(shell, "IFS");
    let is_separator = |c: char| separator.as_ref().map_or(BLANKS.contains(&c), |ifs| ifs.contains(c));
    let is_plain =
        separator.as_ref().is_none_or(|ifs| is_known(ifs) && ifs.chars().all(|c| BLANKS.contains(&c)));
    // Escapes, a part of a line, and other separators behind the last word are not followed.
    if !is_whole || !is_raw && line.contains('\\') || !is_plain && line.ends_with(is_separator) {
        line = unknown;
    }
    let inherits = source.is_none() && invocation.shares_stdin(&before);
    let sharing = if inherits { evaluator.stdin } else { Sharing::Alone };
    let unknown_line = evaluator.unknowns.plain(format!("${name}"));
    if sharing >= Sharing::Certain {
        line = evaluator.one_of(vec![line, unknown_line], &format!("${name}"));
    }
    let is_exact = end == '\n'
        && is_raw
        && is_certain
        && is_whole
        && is_plain
        && sharing == Sharing::Alone
        && !line.contains('\0');
    let origin = if is_exact { Origin::Assigned } else { Origin::Computed };
    if let Some(array) = array {
        let items = line
            .split(is_separator)
            .filter(|item| !item.is_empty())
            .enumerate()
            .map(|(i, text)| (i.to_string(), text.to_owned()));
        shell.set(&array, Value::Array(items.collect()), Origin::Computed);
    } else {
        if names.is_empty() {
            names.push("REPLY".to_owned());
        }
        let mut rest = if is_plain { line.trim_matches(is_separator) } else { line.as_str() };
        let last = names.len() - 1;
        let only_mark = evaluator.unknowns.only_mark(&line).is_some();
        for (index, name) in names.iter().enumerate() {
            if only_mark && index > 0 {
                // The fields of an unknown line.
                let mark = evaluator.unknowns.plain(format!("${name}"));
                let mark = evaluator.unknowns.made_from(mark, &line);
                shell.set(name, Value::Scalar(mark), origin);
                continue;
            }
            let (word, after) = if index == last || only_mark {
                (rest, "")
            } else {
                rest.split_once(is_separator).unwrap_or((rest, ""))
            };
            evaluator.set_special(shell, name, word);
            shell.set(name, Value::Scalar(word.to_owned()), origin);
            rest = if is_plain { after.trim_start_matches(is_separator) } else { after };
        }
    }
    if !is_certain {
        evaluator.join(shell, &before);
    }
}

/// The first line of standard input, or of a descriptor, which keeps the others; `None` where nothing is known of it.
fn first_line(
    evaluator: &mut Evaluator,
    shell: &mut Shell,
    invocation: &Invocation,
    (source, end): (Option<&str>, char),
) -> Option<String> {
    let input = match source {
        Some(source) => evaluator.file_content(shell, source),
        None => invocation.stdin.clone(),
    };
    if source.is_none() && input.is_none() && invocation.inherits_stdin {
        evaluator.stdin = Sharing::Partial;
    }
    let text = input.as_deref()?;
    if !is_known(text) {
        return Some(text.trim_end_matches(end).to_owned());
    }
    evaluator.has_whole_line = text.contains(end);
    let (line, rest) = text.split_once(end).unwrap_or((text, ""));
    if let Some(source) = source {
        evaluator.store_file(shell, source, rest, false);
    } else if invocation.shares_stdin(shell) {
        shell.stdin = Some(rest.to_owned());
    }
    Some(line.to_owned())
}

/// `printf -v NAME FORMAT`.
pub(crate) fn print(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    let Some(variable) = invocation.word(2) else { return };
    let rest = [invocation.fields.get(..1).unwrap_or_default(), invocation.from(3)].concat();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:%, -".contains(c);
    let is_certain = rest.iter().all(|field| field.text.chars().all(is_plain))
        && rest.get(1).is_some_and(|format| !format.text.replace("%s", "").contains('%'));
    let text = printed::of(evaluator, shell, &invocation.with(rest), "printf");
    evaluator.set_element(shell, variable, text);
    if !is_certain {
        shell.mark_computed(variable);
    }
}

/// `mapfile NAME`.
pub(crate) fn map_file(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    let texts = invocation.texts();
    let scanner = Scanner::new(&texts, 1, &["-d", "-n", "-O", "-s", "-u", "-C", "-c"]);
    let name = scanner.plain_words().next().unwrap_or("MAPFILE");
    let is_plain =
        texts.iter().skip(1).all(|word| !word.starts_with('-') || matches!(*word, "-t" | "-C" | "-c"));
    if invocation.stdin.is_none() && invocation.inherits_stdin {
        evaluator.stdin = Sharing::Partial;
    }
    let text = invocation.stdin.clone().filter(|_| is_plain);
    let given = invocation.stdin.clone().unwrap_or_default();
    let text = text.unwrap_or_else(|| {
        // Any element may be any of the lines.
        let mark = evaluator.unknowns.foreign(format!("$(computed ${name})"));
        evaluator.unknowns.made_from(mark, &given)
    });
    evaluator.set_special(shell, name, &text);
    // Without `-t`, each keeps the end of its line.
    let line =
        |line: &'_ str| if texts.contains(&"-t") { line.trim_end_matches('\n') } else { line }.to_owned();
    let items = text.split_inclusive('\n').enumerate().map(|(i, text)| (i.to_string(), line(text))).collect();
    let name = name.to_owned();
    let words = texts.iter().zip(texts.iter().skip(1));
    let callback = words.rev().find(|(option, _)| **option == "-C").map(|(_, callback)| *callback);
    if let Some(callback) = callback {
        for (index, line) in text.lines().enumerate().take(MOST_CALLBACKS) {
            let line = quoted(&[Field::literal(line)]);
            evaluator.run_text(&mut shell.clone(), &format!("{callback} {index} {line}"));
        }
        let rest: Vec<&str> = text.lines().skip(MOST_CALLBACKS).collect();
        if !rest.is_empty() {
            let lines: Vec<String> = rest.iter().map(|line| format!("{callback} {line}")).collect();
            evaluator.leave_out(shell, &lines.join("\n"));
        }
    }
    shell.set(&name, Value::Array(items), Origin::Computed);
}
