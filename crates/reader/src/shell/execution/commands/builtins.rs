//! Builtins, as far as they run other commands or change the state of the shell.

use super::invocation::Invocation;
use super::{aliases, declarations, folders, input, modes};
use crate::languages::names::shell as names;
use crate::shell::evaluator::{Evaluator, Flow, Ran};
use crate::shell::execution::conditions::holds;
use crate::shell::execution::output::printed as output;
use crate::shell::execution::output::redirect::descriptor;
use crate::shell::expansion::pattern::glob;
use crate::shell::on_disk::GLOB;
use crate::shell::options::{Item, Scanner};
use crate::shell::programs::quoted;
use crate::shell::shared::Shared;
use crate::shell::state::{Attribute, Shell, Value};
use crate::shell::text::{Field, Origin, is_all_unknown, is_known, is_name, join};

fn evaluate_subscripts(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    // These three evaluate only the name after `-v`.
    let only_named = matches!(invocation.word(0), Some("printf" | "test" | "["));
    for (before, field) in invocation.fields.iter().zip(invocation.args()) {
        let subscript = field.text.split_once('[').map_or("", |(_, rest)| rest);
        if !subscript.is_empty() && (!only_named || before.text == "-v") {
            evaluator.run_subscripts(&mut shell.clone(), &format!("[{subscript}"));
            let index = subscript.rsplit_once(']').map_or(subscript, |(index, _)| index);
            evaluator.assign_in_subscript(shell, index);
        }
    }
}

/// `getopts OPTIONS NAME WORD…`.
fn next_option(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    let Some(variable) = invocation.word(2) else { return };
    // What it leaves in `OPTARG` may be calculated with, which runs the substitutions in its subscripts.
    let given = invocation.fields.iter().skip(3).chain(shell.args.iter());
    for word in given.map(|field| field.text.clone()).collect::<Vec<_>>() {
        evaluator.run_own(shell, &word);
    }
    let mark = evaluator.unknowns.number("$OPTIND".to_owned());
    shell.set_text("OPTIND", mark);
    let mark = evaluator.unknowns.foreign(format!("$(computed ${variable})"));
    shell.set_text(variable, mark);
    let mark = evaluator.unknowns.foreign("$(computed $OPTARG)".to_owned());
    shell.set_text("OPTARG", mark);
}

/// `compgen` runs functions, commands and the substitutions in a list of words.
fn complete(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation) {
    let texts = invocation.texts();
    for item in Scanner::new(&texts, 1, &["-A", "-C", "-F", "-G", "-P", "-S", "-W", "-X", "-o"]) {
        let Item::Option(name, Some(at)) = item else { continue };
        let value = at.of(&texts).unwrap_or_default();
        if name.is_any(&["-F", "-C"]) {
            drop(evaluator.run_text(&mut shell.clone(), value));
        } else if name.is("-W") {
            drop(evaluator.here_document(&mut shell.clone(), value));
        }
    }
}

/// Whether `jobs -x` runs a command.
fn runs_command(invocation: &Invocation) -> bool {
    let is_run = |word: &str| word.starts_with('-') && word.ends_with('x');
    invocation.word(0) == Some("jobs") && invocation.word(1).is_some_and(is_run)
}

fn run_command(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation) -> Ran {
    let text = quoted(invocation.from(2));
    let run = |this: &mut Evaluator| this.run_text(&mut shell.clone(), &text);
    (evaluator.through(shell, invocation, "jobs", run), Flow::On)
}

/// Runs a builtin; `None` for any other command.
pub(crate) fn run(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) -> Option<Ran> {
    if runs_command(invocation) {
        return Some(run_command(evaluator, shell, invocation));
    }
    let (printed, flow) =
        evaluator.settled(shell, |evaluator, shell| run_unsettled(evaluator, shell, invocation))?;
    if printed.is_empty() && prints(invocation) {
        let source = evaluator.unknowns.show(&invocation.texts().join(" "));
        let states_texts = !matches!(
            invocation.word(0).unwrap_or_default(),
            "cd" | "pushd" | "popd" | "umask" | "ulimit" | "shopt" | "jobs" | "hash" | "enable"
        );
        let unknowns = &mut evaluator.unknowns;
        return Some((
            if states_texts {
                unknowns.foreign(format!("$(computed {source})"))
            } else {
                unknowns.many(format!("$({source})"))
            },
            flow,
        ));
    }
    Some((printed, flow))
}

/// Whether a builtin prints something that is not followed.
fn prints(invocation: &Invocation) -> bool {
    let has = |letters: &[char]| {
        invocation.args().any(|field| field.text.starts_with('-') && field.text.contains(letters))
    };
    match invocation.word(0).unwrap_or_default() {
        "declare" | "typeset" | "local" | "export" | "readonly" => {
            has(&['p', 'f', 'F']) || invocation.fields.len() == 1
        }
        "set" | "alias" => invocation.args().all(|field| field.text == "-o" || field.text == "-p"),
        "trap" => has(&['p', 'l']) || invocation.fields.len() == 1,
        "cd" => invocation.args().any(|field| field.text == "-"),
        "type" => !has(&['p', 'P']),
        "umask" | "ulimit" | "shopt" | "jobs" | "pushd" | "popd" | "hash" | "complete" | "compgen"
        | "bind" | "enable" => true,
        _ => false,
    }
}

/// Whether a word that is not known may state a variable, an option or a text that runs: bash sets it, and runs the substitutions
/// in its subscript.
fn may_name(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation) -> bool {
    let name = invocation.word(0).unwrap_or_default();
    let takes = || names::TAKING_NAMES.has(name) || names::TAKING_WORDS.has(name);
    if invocation.args().all(|field| is_known(&field.text)) || !takes() {
        return false;
    }
    let is_unknown = |field: &Field| !is_known(&field.text);
    let words = &invocation.fields;
    match name {
        name if names::TAKING_NAMES.has(name) => invocation.args().any(is_unknown),
        "set" => invocation.args().take_while(|field| field.text != "--").any(is_unknown),
        "getopts" if words.iter().skip(1).take(2).any(is_unknown) => true,
        "wait" => {
            let names = |field: &Field| field.text.starts_with('-') && field.text.contains('p');
            invocation.args().any(names) && invocation.args().any(is_unknown)
                || is_open(evaluator, shell, name, invocation.args())
        }
        // The value of an option with one is no name: `read -p "$prompt" answer`.
        "read" => {
            let takes =
                |text: &str| text.starts_with('-') && text.ends_with(['p', 't', 'd', 'n', 'N', 'u', 'i']);
            let mut pairs = words.iter().zip(invocation.args());
            pairs.any(|(before, field)| is_unknown(field) && !takes(&before.text))
                || is_open(evaluator, shell, name, invocation.args())
        }
        "printf" if invocation.word(1) == Some("-v") => words.get(2).is_some_and(is_unknown),
        // Without further words, an option has no value.
        "printf" => words.get(1).is_some_and(|format| {
            (is_all_unknown(&format.text) || format.text.starts_with('-') && is_unknown(format))
                && is_foreign(evaluator, shell, name, format)
                && (words.len() > 2 || evaluator.unknowns.may_be_several(&format.text))
        }),
        "test" | "[" => {
            let mut pairs = words.iter().zip(invocation.args());
            pairs.any(|(before, field)| {
                is_unknown(field) && (before.text == "-v" || is_foreign(evaluator, shell, name, before))
            }) || is_open(evaluator, shell, name, invocation.args())
        }
        _ => is_open(evaluator, shell, name, invocation.args()),
    }
}

/// Whether one of the words may be any number of words of any text, such as those of a file, or the names of files.
fn is_open<'f>(
    evaluator: &mut Evaluator,
    shell: &Shell,
    name: &str,
    mut words: impl Iterator<Item = &'f Field>,
) -> bool {
    words.any(|field| {
        evaluator.unknowns.may_be_several(&field.text) && is_foreign(evaluator, shell, name, field)
    })
}

/// Whether a word may be any text when a builtin gets it.
fn is_foreign(evaluator: &mut Evaluator, shell: &Shell, name: &str, field: &Field) -> bool {
    let pattern = evaluator.unknowns.show(&field.text);
    // `find . -exec test -f {} \;`: the path of one file begins with that of a folder.
    let found = evaluator.unknowns.only_mark(&field.text).filter(|unknown| unknown.found.is_some());
    if found.is_some_and(|unknown| !unknown.repeats && unknown.source.starts_with("$(find ")) {
        return false;
    }
    if is_known(&field.text) || !pattern.contains(GLOB) || pattern.contains(['$', '`']) {
        return !is_known(&field.text) && evaluator.may_become_any(shell, &field.text);
    }
    // A file may have any name that matches; none that matches `*.yml` is an operator of `[`.
    !matches!(name, "test" | "[") || glob(&pattern, "-v")
}

fn run_unsettled(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) -> Option<Ran> {
    let name = invocation.word(0)?;
    let quiet = Some((String::new(), Flow::On));
    if may_name(evaluator, shell, invocation) {
        evaluator.unread(shell, &invocation.texts().join(" "));
    }
    if names::EVALUATING.has(name) {
        evaluate_subscripts(evaluator, shell, invocation);
    }
    match name {
        "cd" | "pushd" => folders::change(evaluator, shell, invocation),
        "popd" => folders::leave(shell),
        "export" | "declare" | "typeset" | "local" | "readonly" => {
            declarations::declare(evaluator, shell, invocation);
        }
        "unset" => unset(evaluator, shell, invocation),
        "read" => input::read(evaluator, shell, invocation),
        "mapfile" | "readarray" => input::map_file(evaluator, shell, invocation),
        "printf" if invocation.word(1) == Some("-v") => input::print(evaluator, shell, invocation),
        "printf" if invocation.word(1).is_some_and(|word| word.starts_with("-v") || word.contains("%n")) => {
            evaluator.unread(shell, &invocation.texts().join(" "));
            return None;
        }
        "let" => {
            for field in invocation.args() {
                evaluator.evaluate_expanded(shell, &field.text);
            }
            evaluator.leaf(shell, invocation);
            return quiet;
        }
        "set" => modes::set(evaluator, shell, invocation),
        "shift" => shift(shell, invocation),
        "eval" => {
            let text = join(invocation.from(1));
            let text = text.strip_prefix("-- ").unwrap_or(&text).to_owned();
            let (mut inner, stdin) = (shell.clone(), shell.stdin.clone());
            inner.stdin.clone_from(&invocation.stdin);
            let ran = evaluator.through(shell, invocation, "eval", |this| this.run_script(&mut inner, &text));
            inner.stdin = stdin;
            *shell = inner;
            return Some(ran);
        }
        "compgen" => complete(evaluator, shell, invocation),
        "source" | "." => return Some(source(evaluator, shell, invocation)),
        "trap" => evaluator.trap(shell, invocation),
        "exit" | "return" | "break" | "continue" => {
            evaluator.leaf(shell, invocation);
            let flow = leaves(evaluator, shell, invocation, name);
            // A number below 1 is an error that leaves all loops.
            let levels =
                invocation.word(1).map_or(Some(1), |levels| levels.parse().ok()).filter(|levels| *levels > 0);
            evaluator.leave(shell, flow, levels);
            if flow == Flow::Exit {
                evaluator.run_exit_traps(shell, None);
            }
            // Where it may not run after all, what follows is read from the same state, too.
            return Some((String::new(), if evaluator.is_involved { Flow::On } else { flow }));
        }
        "exec" => return Some(exec(evaluator, shell, invocation)),
        "command" | "builtin" => return through_command(evaluator, shell, invocation),
        "alias" => aliases::alias(evaluator, shell, invocation),
        "shopt" => modes::shopt(evaluator, shell, invocation),
        "enable" => modes::enable(evaluator, shell, invocation),
        "hash" => rename(evaluator, shell, invocation),
        "type" | "[" | "test" | ":" | "true" | "false" | "wait" | "jobs" | "bg" | "fg" | "disown"
        | "umask" | "unalias" | "ulimit" | "getopts" | "complete" | "bind" => {
            evaluator.leaf(shell, invocation);
            // What is written without any variable may be there to mislead: both ways are read.
            let origin = invocation.fields.iter().map(|field| field.origin).max().unwrap_or_default();
            let depends = matches!(origin, Origin::Assigned | Origin::Listed);
            evaluator.status = match (name, invocation.texts().as_slice()) {
                ("test", [_, words @ ..]) | ("[", [_, words @ .., "]"]) if depends => holds(words),
                _ => None,
            };
            if name == "getopts" {
                next_option(evaluator, shell, invocation);
            }
            let locates =
                name == "type" && invocation.args().any(|field| matches!(field.text.as_str(), "-p" | "-P"));
            return if locates { Some((output::located(invocation, "/usr/bin/"), Flow::On)) } else { quiet };
        }
        _ => return None,
    }
    evaluator.leaf(shell, invocation);
    quiet
}

/// `unset NAME…`.
fn unset(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    let is_option = |word: &&str| matches!(*word, "-f" | "-v" | "-n" | "--") || !word.starts_with('-');
    if !invocation.texts().iter().skip(1).all(is_option) {
        evaluator.unread(shell, &invocation.texts().join(" "));
    }
    for field in invocation.args().filter(|field| !field.text.starts_with('-')) {
        match invocation.word(1) {
            // It may be any function.
            Some("-f") if !is_known(&field.text) => {
                let names: Vec<String> = shell.functions.keys().map(ToString::to_string).collect();
                let mut without = shell.clone();
                for name in &names {
                    without.undefine(name);
                }
                evaluator.join(shell, &without);
            }
            Some("-f") => shell.undefine(&field.text),
            // It unsets references only. What one may be stays unknown.
            Some("-n") if shell.attributes.get(&field.text) != Some(&Attribute::Reference) => {}
            Some("-n") => {
                Shared::make_mut(&mut shell.attributes).remove(&field.text);
                shell.set(&field.text, Value::Unset, Origin::Assigned);
            }
            option => {
                // Without a variable of this name, it unsets a function.
                let mut without = shell.clone();
                without.undefine(&field.text);
                evaluator.unset(shell, &field.text);
                if option != Some("-v") && shell.functions.contains_key(&field.text) {
                    evaluator.join(shell, &without);
                }
            }
        }
    }
}

/// `shift NUMBER`.
fn shift(shell: &mut Shell, invocation: &Invocation) {
    let count = invocation.word(1).map_or(Some(1), |count| count.parse::<usize>().ok());
    let known = shell.possible_args().pop().flatten().filter(|_| shell.args_choices.is_empty());
    match (known, count) {
        // It fails where there are not as many, and changes nothing.
        (Some(args), Some(count)) if count <= args.len() => {
            shell.set_args(Some(Shared::new(args.iter().skip(count).cloned().collect())));
        }
        (Some(_), Some(_)) => {}
        _ => shell.set_args(None),
    }
}

/// Where control continues after a builtin that leaves a part of the script. Where it fails, or may, the script goes on.
fn leaves(evaluator: &Evaluator, shell: &Shell, invocation: &Invocation, name: &str) -> Flow {
    let words = invocation.from(1);
    if words.iter().any(|word| word.text == "--help") {
        return Flow::On;
    }
    match name {
        // An unknown word may be two, with which it fails.
        "exit"
            if words.len() <= 1
                && words.iter().all(|word| {
                    evaluator.unknowns.is_one_word(&word.text) && !word.text.contains(['*', '?', '['])
                }) =>
        {
            Flow::Exit
        }
        "return" if shell.in_function && words.len() <= 1 => Flow::Return,
        "break" if shell.in_loop => Flow::Break,
        "continue" if shell.in_loop => Flow::Continue,
        _ => Flow::On,
    }
}

/// `hash -p PATH NAME`: the name starts the program at the path.
fn rename(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    if let ["-p", path, names @ ..] = invocation.texts().get(1..).unwrap_or_default() {
        for name in names {
            evaluator.rename(shell, path, name);
        }
    }
}

fn source(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) -> Ran {
    let file = invocation.word(1).unwrap_or_default();
    let content = match file {
        "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "-" => invocation.stdin.clone(),
        _ => evaluator.script_file(shell, file),
    };
    let Some(content) = content else {
        evaluator.leaf(shell, invocation);
        return (String::new(), Flow::On);
    };
    let mut inner = shell.clone();
    let has_args = invocation.fields.len() > 2;
    if has_args {
        let args = invocation.from(2);
        // Without any, it has those of its caller.
        let may_vanish = args.iter().all(|field| evaluator.unknowns.may_be_several(&field.text));
        inner.set_args((!may_vanish).then(|| Shared::new(args.to_vec())));
    }
    inner.set_text("BASH_SOURCE", file);
    inner.in_function = true;
    let (printed, _) = evaluator.through(shell, invocation, "source", |this| {
        this.until_return(&mut inner, |this, inner| {
            let text = this.follow_file(shell, file, &content, |this| this.run_script(inner, &content).0);
            (text.unwrap_or_default(), Flow::On)
        })
    });
    if has_args && content.contains("set") && !sets_options_only(&content) {
        // What `set` states in it stays.
        inner.set_args(None);
    } else if has_args {
        inner.args = shell.args.clone();
        inner.args_unknown = shell.args_unknown;
        inner.args_choices = shell.args_choices.clone();
    }
    inner.restore("BASH_SOURCE", shell);
    inner.in_function = shell.in_function;
    *shell = inner;
    (printed, Flow::On)
}

/// Whether each `set` in a text sets options: `set -e`.
fn sets_options_only(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_option = |word: &&str| word.starts_with(['-', '+']) && !matches!(*word, "--" | "-");
    words
        .split(|word| word.ends_with("set"))
        .skip(1)
        .all(|after| after.first().is_some_and(is_option) && after.get(1).is_none_or(|word| *word != "--"))
}

fn exec(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) -> Ran {
    let texts = invocation.texts();
    let mut scanner = Scanner::new(&texts, 1, &["-a"]);
    let first = scanner.find_map(|item| match item {
        // `exec {NAME}<file` opens a file and runs nothing.
        Item::Positional(i) if texts.get(i).is_none_or(|word| descriptor_name(word).is_none()) => Some(i),
        _ => None,
    });
    let Some(first) = first else {
        evaluator.leaf(shell, invocation);
        match (invocation.word(1).and_then(descriptor_name), &invocation.stdin) {
            (Some(name), stdin) => {
                // The shell chooses the number.
                let number = evaluator.unknowns.plain(format!("${name}"));
                if let Some(text) = stdin {
                    evaluator.store_file(shell, &descriptor(&number), text, false);
                }
                shell.set_text(name, number);
            }
            (None, stdin) => shell.stdin.clone_from(stdin),
        }
        return (String::new(), Flow::On);
    };
    let rest = invocation.with(invocation.from(first).to_vec());
    let inner = shell.clone().through("exec");
    let printed = evaluator.through(shell, invocation, "exec", |this| this.start(&inner, &rest).0);
    // With `execfail`, the script continues when the program cannot be started; with an unknown option, it always does.
    let is_option =
        |word: &&str| !matches!(*word, "-a" | "-c" | "-l" | "-cl" | "-lc" | "--") && word.starts_with('-');
    let may_be_option = invocation.word(first).is_none_or(is_all_unknown)
        || texts.get(1..first).unwrap_or_default().iter().any(is_option);
    (printed, if shell.outlives_exec || may_be_option { Flow::On } else { Flow::Exit })
}

/// The name in the `{NAME}` before a redirection, the variable that receives the file descriptor.
fn descriptor_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))?;
    is_name(name).then_some(name)
}

/// Runs `command name …` or `builtin name …`, which skip functions.
fn through_command(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) -> Option<Ran> {
    let name = invocation.word(0)?.to_owned();
    let options: Vec<_> = invocation.args().take_while(|field| field.text.starts_with('-')).collect();
    // With a wrong option, it runs nothing.
    if options.iter().any(|field| !matches!(field.text.as_str(), "-p" | "--" | "-v" | "-V" | "-pv" | "-pV")) {
        evaluator.unread(shell, &invocation.texts().join(" "));
    }
    let rest = invocation.with(invocation.from(1 + options.len()).to_vec());
    if rest.fields.is_empty() || options.iter().any(|field| field.text.contains(['v', 'V'])) {
        evaluator.leaf(shell, invocation);
        return Some((output::located(invocation, ""), Flow::On));
    }
    let mut inner = shell.clone().through(&name);
    inner.skips_functions = true;
    let ran = evaluator.through(shell, invocation, name, |this| this.run(&mut inner, &rest));
    inner.via = std::sync::Arc::clone(&shell.via);
    *shell = inner;
    Some(ran)
}
