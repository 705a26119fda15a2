//! opsctl's own entry in the catalogue of programs, written from the facts and the arguments of its verbs.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::facts::{Caller, Changes, Facts, Runs, below, is_path};

/// Options of every verb that print help or the version.
const HELP: &str = "[-h, --help, -V, --version]";

/// The entry, as `crates/reader/src/catalogue/shell/opsctl.yaml` contains it.
pub fn entry(program: &Command, facts: &[&Facts]) -> String {
    let mut text = format!(
        "# opsctl itself: an agent may query it and report to it, but not loosen what limits it.\n\
         # Written from the verbs: UPDATE_REFERENCE=1 cargo test --lib verbs\n\n\
         opsctl:\n  value: {}\n  quiet: &quiet {HELP}\n  effect: reads\n  most_words: 0\n  reads: none\n  verbs:\n    \
         help: {{effect: reads, quiet: *quiet}}\n",
        list(options(program, &|argument| takes_value(argument)))
    );
    for verb in facts {
        if let Some(command) = below(program, verb.verb) {
            // Nothing fails that is written to a text.
            let _ = writeln!(text, "    {}: {{{}}}", verb.verb, keys(command, verb).join(", "));
        }
    }
    text
}

fn keys(command: &Command, facts: &Facts) -> Vec<String> {
    let all = |which: &dyn Fn(&Arg) -> bool| options(command, which);
    let mut keys = Vec::new();
    let mut key = |name: &str, value: String| keys.push(format!("{name}: {value}"));
    let has_trailing = command
        .get_positionals()
        .any(|argument| argument.is_trailing_var_arg_set() || argument.is_last_set());
    match (facts.caller, facts.changes) {
        (Caller::Operator, _) => key("does", "loosen".to_owned()),
        (Caller::Agent, Changes::Something) => key("effect", "changes".to_owned()),
        (Caller::Agent, Changes::Nothing | Changes::With(_)) => key("effect", "reads".to_owned()),
    }
    if !facts.sends.is_empty() {
        key("does", "send".to_owned());
        key("needs", list(facts.sends));
        key("recipients", "{operators: true}".to_owned());
    }
    if let Changes::With(options) = facts.changes {
        key("changes_with", list(options));
    }
    key("value", list(all(&takes_value)));
    // What follows the words of a command belongs to that command.
    if facts.caller == Caller::Agent && !has_trailing {
        key("flags", list(all(&|argument| !takes_value(argument))));
        if command.has_subcommands() || command.get_positionals().next().is_none() {
            key("most_words", "0".to_owned());
        }
    }
    let writes =
        |argument: &Arg| facts.writes.iter().any(|option| names(argument).iter().any(|name| name == option));
    let paths = all(&is_path);
    if !paths.is_empty() {
        key("inputs", list(paths));
    }
    let outputs = all(&writes);
    if !outputs.is_empty() {
        key("outputs", list(outputs));
    }
    if facts.verb == "explain" {
        key("options", "{folder: [--cwd]}".to_owned());
    }
    key("reads", "none".to_owned());
    if facts.verb == "explain" {
        key("files", "explained".to_owned());
    }
    if facts.runs == Runs::Command {
        key("runs", "command".to_owned());
    }
    match facts.quiet {
        [] => key("quiet", "*quiet".to_owned()),
        more => key("quiet", format!("[*quiet, {}]", more.join(", "))),
    }
    keys
}

/// The options of a verb as they are written, without those of help.
fn options(command: &Command, which: &dyn Fn(&Arg) -> bool) -> Vec<String> {
    let own = command.get_arguments().filter(|argument| !argument.is_positional() && which(argument));
    own.flat_map(names).filter(|name| !HELP.contains(name.as_str())).collect()
}

fn names(argument: &Arg) -> Vec<String> {
    let short = argument.get_short_and_visible_aliases().unwrap_or_default();
    let long = argument.get_long_and_visible_aliases().unwrap_or_default();
    let short = short.into_iter().map(|name| format!("-{name}"));
    short.chain(long.into_iter().map(|name| format!("--{name}"))).collect()
}

fn takes_value(argument: &Arg) -> bool {
    argument.get_action().takes_values()
}

fn list(items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.as_ref().to_owned()).collect();
    format!("[{}]", items.join(", "))
}
