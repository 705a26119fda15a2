//! What each verb is: who may call it, where it runs, and what it uses. Each verb states this beside its arguments; the dispatch,
//! the verbs that a guard serves and opsctl's own entry in the catalogue follow from it.

use clap::{Arg, ArgMatches, Command, ValueHint, parser::ValueSource};

/// Who may call a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The agent, and everyone else.
    Agent,
    /// An operator, or a program that an operator configured: denied to the agent at every tier.
    Operator,
}

/// What a verb changes, other than what it limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// Nothing.
    Nothing,
    /// Something.
    Something,
    /// Something with one of these options, otherwise nothing.
    With(&'static [&'static str]),
}

/// Which program a verb runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// None that its arguments name.
    Nothing,
    /// The command that its words are.
    Command,
}

/// Where a verb runs if a guard is a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// In the process of the caller: it is about files and programs of this machine.
    Caller,
    /// In the guard, except with these options, and those that name a file.
    Guard(&'static [&'static str]),
    /// In the guard's container only: it is refused to a caller that reaches the guard through its socket.
    GuardOnly,
}

/// The facts of a verb.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the catalogue's entry states the rest, and a test compares both")
)]
pub struct Facts {
    /// Its words: `cooldown show`.
    pub verb: &'static str,
    /// Who may call it.
    pub caller: Caller,
    /// What it changes.
    pub changes: Changes,
    /// Options with which it only reads.
    pub quiet: &'static [&'static str],
    /// Options of which one is required for it to send a message to the operators.
    pub sends: &'static [&'static str],
    /// Options whose value is a file or a folder that it writes. It reads what all other paths name.
    pub writes: &'static [&'static str],
    /// What it runs.
    pub runs: Runs,
    /// Where it runs.
    pub side: Side,
    /// Whether it reads or changes the ledger.
    pub ledger: bool,
    /// Whether it may write to the state folder, directly or through hooks that it configures.
    pub state: bool,
    /// Whether its use is recorded in the audit, with who used it.
    pub audited: bool,
    /// Whether it needs the keys of the client or the notification targets.
    pub keys: bool,
}

impl Facts {
    /// A verb that only reads and that anyone may call, on the machine of the caller.
    pub const fn reads(verb: &'static str) -> Self {
        Self {
            verb,
            caller: Caller::Agent,
            changes: Changes::Nothing,
            quiet: &[],
            sends: &[],
            writes: &[],
            runs: Runs::Nothing,
            side: Side::Caller,
            ledger: false,
            state: false,
            audited: false,
            keys: false,
        }
    }

    /// A verb that changes something and that anyone may call.
    pub const fn changes(verb: &'static str) -> Self {
        Self { changes: Changes::Something, ..Self::reads(verb) }
    }

    /// A verb of operators.
    pub const fn operator(verb: &'static str) -> Self {
        Self { caller: Caller::Operator, ..Self::changes(verb) }
    }
}

/// Facts that most verbs do not have, each as a method that sets its field.
macro_rules! further_facts {
    ($($(#[$doc:meta])* $name:ident($($options:ident)?) sets $field:ident: $value:expr;)*) => {
        impl Facts {
            $($(#[$doc])* pub const fn $name(self $(, $options: &'static [&'static str])?) -> Self {
                Self { $field: $value, ..self }
            })*
        }
    };
}

further_facts! {
    /// With these options it changes something.
    changes_with(options) sets changes: Changes::With(options);
    /// With one of these options it only reads.
    quiet(options) sets quiet: options;
    /// With one of these options it sends a message.
    sends(options) sets sends: options;
    /// These options name what it writes.
    writes(options) sets writes: options;
    /// Its words are a command that it runs.
    runs() sets runs: Runs::Command;
    /// It runs in the guard, except with these options.
    in_guard(except) sets side: Side::Guard(except);
    /// It runs on the guard's side only.
    on_guards_side() sets side: Side::GuardOnly;
    /// It uses the ledger.
    with_ledger() sets ledger: true;
    /// It may write to the state folder.
    with_state() sets state: true;
    /// Its use is recorded in the audit.
    audited() sets audited: true;
    /// It needs keys.
    with_keys() sets keys: true;
}

/// The words of the verb on a command line, and the arguments of its last word.
pub fn verb_of(matches: &ArgMatches) -> (String, &ArgMatches) {
    let (mut words, mut last) = (Vec::new(), matches);
    while let Some((word, below)) = last.subcommand() {
        words.push(word);
        last = below;
    }
    (words.join(" "), last)
}

/// The command below `program` that these words name.
pub fn below<'a>(program: &'a Command, verb: &str) -> Option<&'a Command> {
    verb.split(' ').filter(|word| !word.is_empty()).try_fold(program, |at, word| at.find_subcommand(word))
}

/// An option on the command line that works in the process of the caller only: one that the verb excepts, or one that names a
/// file. `-` is no file.
pub fn kept_from_guard(command: &Command, matches: &ArgMatches, except: &[&str]) -> Option<String> {
    let is_given =
        |argument: &&Arg| matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine);
    let is_dash = |argument: &Arg| {
        let mut values = matches.get_raw(argument.get_id().as_str()).into_iter().flatten();
        values.all(|value| value == "-")
    };
    command
        .get_arguments()
        .filter(is_given)
        .find(|argument| {
            except.contains(&name(argument).as_str()) || (is_path(argument) && !is_dash(argument))
        })
        .map(name)
}

/// Whether an argument names a file or a folder.
pub fn is_path(argument: &Arg) -> bool {
    use ValueHint::{AnyPath, DirPath, ExecutablePath, FilePath};
    matches!(argument.get_value_hint(), AnyPath | DirPath | ExecutablePath | FilePath)
}

/// An option as it is written, or the name of a value without an option.
pub fn name(argument: &Arg) -> String {
    argument.get_long().map_or_else(|| argument.get_id().to_string(), |long| format!("--{long}"))
}
