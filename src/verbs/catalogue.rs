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
         opsctl:\n  # `./hosts.yaml` may state commands.\n  loads_folder: true\n  value: {}\n  quiet: &quiet {HELP}\n  effect: reads\n  most_words: 0\n  reads: none\n  verbs:\n    \
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
    let has_trailing = command
        .get_positionals()
        .any(|argument| argument.is_trailing_var_arg_set() || argument.is_last_set());
    let has_words = !command.has_subcommands() && command.get_positionals().next().is_some();
    // What follows the words of a command belongs to that command.
    let is_whole = facts.caller == Caller::Agent && !has_trailing;
    let does = match (facts.caller, facts.changes) {
        (Caller::Operator, _) => "does: loosen",
        (Caller::Agent, Changes::Something) => "effect: plain",
        (Caller::Agent, Changes::Nothing | Changes::With(_)) => "effect: reads",
    };
    let changes_with = if let Changes::With(options) = facts.changes { options } else { &[] };
    let writes =
        |argument: &Arg| facts.writes.iter().any(|option| names(argument).iter().any(|name| name == option));
    let (inputs, outputs) = (all(&is_path), all(&writes));
    let explains = facts.verb == "explain";
    let quiet: Vec<&str> = std::iter::once("*quiet").chain(facts.quiet.iter().copied()).collect();
    let quiet = if facts.quiet.is_empty() { "*quiet".to_owned() } else { list(quiet) };
    let keys = [
        (true, does.to_owned()),
        (!facts.sends.is_empty(), format!("does: send, needs: {}", list(facts.sends))),
        (!facts.sends.is_empty(), "recipients: {operators: true}".to_owned()),
        (!changes_with.is_empty(), format!("changes_with: {{plain: {}}}", list(changes_with))),
        (true, format!("value: {}", list(all(&takes_value)))),
        (is_whole, format!("flags: {}", list(all(&|argument| !takes_value(argument))))),
        (is_whole && !has_words, "most_words: 0".to_owned()),
        (!inputs.is_empty(), format!("inputs: {}", list(inputs))),
        (!outputs.is_empty(), format!("outputs: {}", list(outputs))),
        (explains, "options: {folder: [--cwd]}".to_owned()),
        (true, "reads: none".to_owned()),
        (explains, "files: explained".to_owned()),
        (facts.runs == Runs::Command, "runs: command".to_owned()),
        (true, format!("quiet: {quiet}")),
    ];
    keys.into_iter().filter(|(is_stated, _)| *is_stated).map(|(_, key)| key).collect()
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
