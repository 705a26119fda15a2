//! Wrappers: programs that run the command in their arguments, such as `sudo` or `docker exec`.

use crate::catalogue::options::{At, Item, Scanner};
use crate::catalogue::program::{How, Role, Runs, Stdin};
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Started;
use crate::shell::host::host_of;
use crate::shell::shared::Shared;
use crate::shell::state::Shell;
use crate::shell::text::{Field, is_name, join};

#[expect(clippy::struct_excessive_bools, reason = "each is a yes-or-no fact of its own")]
/// The arguments of a wrapper.
#[derive(Default)]
struct Wrapped {
    /// The shell in which the command runs.
    inner: Shell,
    /// Index of the first word of the command.
    command: Option<usize>,
    /// The hosts that its options name: each of them may run the command.
    hosts: Vec<String>,
    /// The values of options that take a script. Each of them may run.
    scripts: Vec<String>,
    /// The value of an option that takes words of the command, such as `env -S`.
    split: Option<String>,
    /// The words are not joined, although the wrapper usually joins them.
    exact: bool,
    /// The words are keys that are typed into a shell.
    typed: bool,
    /// Without a command, standard input is a script.
    is_shell: bool,
    /// The wrapper runs no command, such as `sudo -l`.
    quiet: bool,
}

/// Runs the command of a wrapper; `None` when it has none.
pub(crate) fn run(evaluator: &mut Evaluator, started: &Started<'_>, runs: &Runs) -> Option<String> {
    let Started { shell, invocation, usage, texts, .. } = *started;
    let mut found = own_words(evaluator, started, runs);
    if found.quiet {
        evaluator.leaf(shell, invocation);
        return Some(String::new());
    }
    found.inner.stdin.clone_from(&invocation.stdin);
    if found.hosts.is_empty() {
        found.hosts.extend(usage.host(texts).map(str::to_owned));
    }
    let mut inner = found.inner;
    let host = each_host(&found.hosts);
    if !host.is_empty() {
        inner = inner.on_host(evaluator.unknowns.show(&host));
    }
    let rest = found.command.map_or(&[][..], |at| invocation.from(at));
    let rest = rest.strip_prefix([Field::literal("--")].as_slice()).unwrap_or(rest);
    let label = usage.written(texts);
    let scripts = if found.typed {
        // The shell is running already, and its state is unknown.
        inner = inner.elsewhere();
        vec![join(&keys(rest))]
    } else if !found.scripts.is_empty() && !rest.is_empty() {
        behind_scripts(found.scripts, rest, runs)?
    } else if !found.scripts.is_empty() {
        found.scripts
    } else if let Some(text) = found.split {
        vec![format!("{text} {}", quoted(rest))]
    } else if rest.is_empty() {
        let given = usage.operands_from(usage.rest, texts);
        let file = given.values(Role::ScriptFile).last().and_then(|file| evaluator.script_file(shell, file));
        vec![file.or(invocation.stdin.clone()).filter(|_| found.is_shell)?]
    } else if runs.how == How::Joined && !found.exact {
        vec![join(rest)]
    } else {
        vec![]
    };
    if !scripts.is_empty() {
        // What one of several scripts defines is not there for the others.
        let printed = evaluator.through(shell, invocation, label, |this| {
            let printed = scripts.iter().map(|text| {
                let mut inner = inner.child();
                // `su user -c '… $1' name argument`: the rest are the script's arguments.
                inner.args = Shared::new(rest.get(1..).unwrap_or_default().to_vec());
                this.run_text(&mut inner, text)
            });
            printed.collect::<Vec<_>>().concat()
        });
        return Some(printed);
    }
    let dashes = runs.drops_dashes && rest.get(1).is_some_and(|field| field.text == "--");
    let words = rest.iter().filter(|field| !dashes || field.text != "--");
    let rest = invocation.with(words.cloned().collect());
    Some(evaluator.through(shell, invocation, label, |this| this.run_program(&inner, &rest)))
}

/// The hosts in the values of options, of which each may list several, as one list.
pub(super) fn each_host(values: &[String]) -> String {
    let mut hosts: Vec<String> = Vec::new();
    for host in values.iter().flat_map(|value| value.split([',', ' '])).filter_map(host_of) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts.join(",")
}

/// The scripts with the words behind them, which belong to each script where the wrapper joins them; `None` where the words
/// may be something else, or name another script.
fn behind_scripts(scripts: Vec<String>, rest: &[Field], runs: &Runs) -> Option<Vec<String>> {
    let is_script = |field: &Field| {
        let name = field.text.split('=').next().unwrap_or_default();
        let is_short = |option: &&str| option.len() == 2 && name.starts_with(*option);
        let is_long = |option: &&str| name.len() > 2 && option.starts_with(name);
        runs.script.iter().any(|option| is_short(option) || is_long(option))
    };
    let is_joined = runs.how == How::Joined && !rest.iter().any(is_script);
    is_joined.then(|| scripts.into_iter().map(|text| format!("{text} {}", quoted(rest))).collect())
}

/// The typed words without the names of keys.
fn keys(fields: &[Field]) -> Vec<Field> {
    let is_key = |text: &str| matches!(text, "stuff" | "Enter" | "C-m" | "KPEnter");
    let typed = fields.iter().filter(|field| !is_key(&field.text)).cloned();
    // `screen -X stuff 'COMMAND\n'`.
    let lines = |mut field: Field| {
        for key in ["\\n", "\\r", "\\012", "\\015", "^M", "^J"] {
            field.text = field.text.replace(key, "\n");
        }
        field
    };
    typed.map(lines).collect()
}

/// Reads the arguments of a wrapper after its verb, up to the command.
fn own_words(evaluator: &mut Evaluator, started: &Started<'_>, runs: &Runs) -> Wrapped {
    let Started { shell, program, usage, texts, .. } = *started;
    let inner = if runs.inside { shell.elsewhere() } else { shell.clone() };
    let mut found = Wrapped {
        inner: inner.through(program),
        typed: runs.how == How::Typed,
        is_shell: usage.form.stdin == Stdin::Script,
        ..Wrapped::default()
    };
    found.inner.repeats |= runs.repeats;
    if runs.keeps_with.is_some_and(|keeps| !keeps_environment(started, &keeps)) {
        evaluator.doubt_environment(&mut found.inner);
    }
    let skip = runs.after.0.filter(|_| runs.words_need.is_empty() || states(started, &runs.words_need));
    // A verb with the options of the host in its own list takes them behind the command, too.
    let own = usage.form.value.unwrap_or_default();
    let takes_one_word = runs.how == How::Joined
        && !usage.verb.is_empty()
        && usage.program.host.iter().any(|option| own.contains(option));
    let mut skipped = 0;
    let mut scanner = Scanner::new(texts, usage.rest, &usage.form.valued);
    let value = |at: At| at.of(texts).unwrap_or_default();
    while let Some(item) = scanner.next() {
        match item {
            Item::Option(name, Some(at)) if runs.takes_script(name) => {
                found.scripts.push(value(at).to_owned());
            }
            // GNU programs take the beginning of a long option.
            Item::Option(name, Some(at)) if name.is_any(&runs.dir) || name.begins(&runs.dir) => {
                evaluator.go(&mut found.inner, value(at));
            }
            Item::Option(name, Some(at)) if name.is_any(&runs.sets) => {
                set(shell, &mut found.inner, value(at));
            }
            Item::Option(name, Some(at)) if name.is_any(&usage.program.host) => {
                found.hosts.push(value(at).to_owned());
            }
            Item::Option(name, Some(at)) if runs.assigns && name.is_any(&["-u", "--unset"]) => {
                found.inner.unexport(|known| known == value(at));
            }
            Item::Option(name, None) if runs.assigns && name.is_any(&["-i", "--ignore-environment"]) => {
                found.inner.unexport(|_| true);
            }
            Item::Option(name, at) => {
                if let Some(at) = at.filter(|_| name.is_any(&runs.split)) {
                    found.split = Some(value(at).to_owned());
                }
                // What follows belongs to the command.
                if found.split.is_some() || name.is_any(&runs.at_once) {
                    found.command = Some(scanner.position());
                    break;
                }
                found.exact |= name.is_any(&runs.exact);
                found.typed |= name.is_any(&runs.typed);
                found.quiet |= at.is_none() && name.is_any(&usage.form.quiet);
                found.is_shell |= name.is_any(&runs.stdin_with);
                if name.is_any(&runs.home_with) || name.begins(&runs.home_with) {
                    found.inner.enter(None);
                    evaluator.doubt_environment(&mut found.inner);
                }
                found.inner.repeats |= name.is_any(&runs.timers);
            }
            // `kubectl exec pod -- command`: the dashes end the wrapper's own words.
            Item::Dashes(index) if skip.is_some_and(|skip| skipped >= skip) => {
                found.command = Some(index + 1);
                break;
            }
            Item::Dashes(_) => {}
            Item::Positional(index) => {
                let word = texts.get(index).copied().unwrap_or_default();
                if word == "-" && !runs.home_with.is_empty() {
                    found.inner.enter(None);
                    evaluator.doubt_environment(&mut found.inner);
                }
                // `env - command` is `env -i command`.
                if runs.assigns && word == "-" {
                    found.inner.unexport(|_| true);
                    continue;
                }
                if let Some((name, text)) =
                    word.split_once('=').filter(|_| runs.assigns && is_assignment(word))
                {
                    if let Some(name) = name.strip_prefix("BASH_FUNC_") {
                        let name = name.trim_end_matches(['%', '(', ')']);
                        evaluator.run_text(&mut found.inner, &format!("{name} {text}"));
                        Shared::make_mut(&mut found.inner.exported_functions).push(name.to_owned());
                    } else {
                        found.inner.set_text(name, text);
                        found.inner.export(name);
                    }
                } else if skip.is_none_or(|skip| skipped < skip) {
                    skipped += 1;
                } else if takes_one_word {
                    let before = found.scripts.pop().map(|text| text + " ").unwrap_or_default();
                    found.scripts.push(before + word);
                } else {
                    found.command = Some(index);
                    break;
                }
            }
        }
    }
    found
}

/// Gives the command a variable: `NAME=value`, or `NAME` for one that the wrapper has.
fn set(outer: &Shell, inner: &mut Shell, given: &str) {
    let (name, text) = given.split_once('=').map_or((given, None), |(name, text)| (name, Some(text)));
    match (text, outer.get(name).filter(|variable| variable.exported)) {
        (Some(text), _) => inner.set_text(name, text),
        (None, Some(variable)) => inner.put(name, variable.clone()),
        (None, None) => return,
    }
    inner.export(name);
}

/// Whether one of these options stands before the command, without a list of variables.
fn keeps_environment(started: &Started<'_>, options: &[&str]) -> bool {
    let mut keeps = false;
    let mut scanner = Scanner::new(started.texts, started.usage.rest, &started.usage.form.valued);
    scanner.up_to_word(|name, value| keeps |= value.is_none() && name.is_any(options));
    keeps
}

/// Whether one of the options behind the verb is given.
fn states(started: &Started<'_>, options: &[&str]) -> bool {
    let mut items = Scanner::new(started.texts, started.usage.rest, &started.usage.form.valued);
    items.any(|item| matches!(item, Item::Option(name, _) if name.is_any(options)))
}

/// True for `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_name(name) || name.starts_with("BASH_FUNC_"))
}

/// The words in single quotes, separated by blanks.
pub(crate) fn quoted(fields: &[Field]) -> String {
    let quote = |field: &Field| format!("'{}'", field.text.replace('\'', "'\\''"));
    fields.iter().map(quote).collect::<Vec<_>>().join(" ")
}
