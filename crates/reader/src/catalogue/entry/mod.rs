//! The YAML form of a program's description, in the files of the catalogue and under `programs` in `hosts.yaml`.
//!
//! These types mirror the text; `convert` turns them into a program. The build script uses this folder, too.

mod convert;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

pub use convert::EntryError;

/// A program, or one of its verbs; a single word is only an effect.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct EntryWire(Box<Keys>);

/// A program, or one of its verbs; see [programs.md](programs.md). A value that is only one word is the `effect`. The keys `names` to `differs` belong to a program, all others to a program and to its verbs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
struct Keys {
    /// Names of the program, without a folder. Default: its key. Built-in programs may have globs, such as `mkfs.*` and `*/init.d/*`.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    names: Texts,
    /// Whether an unknown program name, such as `$X`, may be this program: `always`, `by_name` (if the name of the variable contains a name of the program) or `never`. Default: `by_name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    guess: Option<GuessWire>,
    /// Further texts that identify the program in the name of a variable, such as `compose`.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    hints: Texts,
    /// Options whose value is the host that the program acts on.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    host: Texts,
    /// Environment variables that name this host.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    host_variables: Texts,
    /// Words that name this host: `first`, or `remote` for each word such as `nas:/srv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    host_words: Option<HostWordsWire>,
    /// Where the text that it prints comes from: from its standard input or its files (`input`), from an address (`answers`), or it is names of files (`file_names`) or contains IDs of processes (`process_ids`).
    #[serde(skip_serializing_if = "Option::is_none")]
    prints: Option<PrintsWire>,
    /// Whether it runs or loads what its working directory configures, such as `.git/config`. Default: `false`.
    #[serde(skip_serializing_if = "is_false")]
    loads_folder: bool,
    /// Subcommands, by the words that select them. `a | b c` are alternatives, `*` matches any word. A verb is a map or only its effect.
    #[serde(skip_serializing_if = "Entries::is_empty")]
    verbs: Entries,
    /// Commands that it runs beside its own work, by their place: an option, `word`, `stdin` (each line) or `$VARIABLE`, each with patterns in which the last `*` stands for the script. A script whose commands neither act, run others nor have rules is left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    commands: BTreeMap<String, Texts>,
    /// Rules of `policy.never` that apply to the program, by name, with patterns of the words after the program.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    never: BTreeMap<String, Texts>,
    /// Beginnings of its commands, after the name, that change something in any case. At a tier that may not change anything, the client denies them before the hook does.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    prefixes: Texts,
    /// Commands that only read, to suggest instead of commands that change something, by the words after the name; `"*"` for all others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    instead: BTreeMap<String, String>,
    /// Commands that the description must apply to: they carry out an action or run another command; for a program that does neither, they only read. Required in `hosts.yaml`, and checked when the file is read.
    #[serde(skip_serializing)]
    matches: Texts,
    /// Commands that the description must not apply to. Checked when the file is read.
    #[serde(skip_serializing)]
    differs: Texts,

    /// Whether its long options have one dash, such as `-out=FILE`.
    #[serde(skip_serializing_if = "is_false")]
    one_dash: bool,
    /// Whether its long options may be abbreviated, such as `--start-at` for `--start-at-task`: the options without a value that are the beginning of one with a value, such as `--become`. Default: they may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    abbreviates: Option<Texts>,
    /// Options that take a value, such as `-n`, `--namespace`; `-p*` takes it in the same word only. Default for a verb: those of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Texts>,
    /// Options with which it changes nothing, such as `--help` and `--dry-run`.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    quiet: Texts,
    /// Values of options with which it changes nothing, by option.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    quiet_values: BTreeMap<String, Texts>,
    /// Effect on the world of a command that carries out no action: `reads`, `writes` (only the files that it writes), `changes` or `unknown`. Default: the effect of the command that it runs, otherwise `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<StatedWire>,
    /// Complete list of the harmless options without a value: with an option that is not listed under any key, the effect is unknown. Without this key, only the options in `changes_with` change something.
    #[serde(skip_serializing_if = "Option::is_none")]
    flags: Option<Texts>,
    /// Options with which it changes something.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    changes_with: Texts,
    /// Options of which one is required for it to only read; without one, it changes something.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    reads_with: Texts,
    /// Values of options, as globs, with which the effect is unknown, by option.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unknown_values: BTreeMap<String, Texts>,
    /// Maximum number of words; with more, it changes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    most_words: Option<usize>,
    /// Options with which any number of words may be given.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    any_words_with: Texts,
    /// Globs for the words: each word must match one of them, and none of those that begin with `!`; otherwise, it changes something.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    words: Texts,
    /// Options whose value is a statement in SQL.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    statements: Texts,
    /// Analysis that must prove that the command only reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<CheckWire>,

    /// Action that it carries out. `create` creates a pull request, `send` sends a message, `loosen` weakens opsctl's own limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    does: Option<VerbWire>,
    /// Target of the action: a kind and a position, such as `service 1`, `container...` or `unit --unit`, or a kind and a name, such as `process =unbound`. Required for most actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// Other actions that options select, by action, such as `{stop: [-d], start: [-u]}`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    does_with: BTreeMap<VerbWire, Texts>,
    /// Options of which one is required for it to carry out the action.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    needs: Texts,
    /// Globs of which the first word must match one for it to carry out the action.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    first: Texts,
    /// Options with which the action applies to everything at once, which is always denied.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    all: Texts,
    /// Options that select targets in place of names, such as `--latest` and `--filter name=x`.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    selects: Texts,
    /// Options whose value is the title of a pull request.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    title: Texts,
    /// Recipients of the message, for `does: send`.
    #[serde(skip_serializing_if = "Option::is_none")]
    recipients: Option<RecipientsWire>,

    /// How it takes the command that it runs: `command` (a program and its arguments), `joined` (words that a shell reads), `typed` (keys for a running shell), or a specific way such as `shell`, `ssh` or `code python`.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<String>,
    /// Number of words before the command. `-1`: its words are never a command. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<i64>,
    /// Options of which one is required for the words to be a command.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    words_need: Texts,
    /// Options whose value is a script.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    script: Texts,
    /// Options whose value contains words of the command.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    split: Texts,
    /// Options that the command follows immediately.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    at_once: Texts,
    /// Options with which the words are not joined, for `runs: joined`.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    exact: Texts,
    /// Options with which the words are keys for a running shell.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    typed: Texts,
    /// Whether `NAME=value` words may precede the command. Default: `false`.
    #[serde(skip_serializing_if = "is_false")]
    assigns: bool,
    /// Whether the command runs in a container, a virtual machine or another root. Default: `false`.
    #[serde(skip_serializing_if = "is_false")]
    inside: bool,
    /// What the command runs in: a kind and a position, such as `container 1` or `guest 1`. A unit, or a program of a supervisor, that the command acts on then belongs to its service.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<String>,
    /// Whether the command gets the whole environment. Default: `false`.
    #[serde(skip_serializing_if = "is_false")]
    environment: bool,
    /// Whether the command runs repeatedly. Default: `false`.
    #[serde(skip_serializing_if = "is_false")]
    repeats: bool,
    /// Options with which the command runs repeatedly.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    timers: Texts,
    /// Options whose value is the working directory of the command.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    dir: Texts,
    /// Whether a `--` after the first word of the command is removed. Default: `false`.
    #[serde(skip_serializing_if = "is_false")]
    drops_dashes: bool,
    /// Options with which standard input is a script if no command is given.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    stdin_with: Texts,

    /// Program whose verbs follow, by its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    then: Option<String>,
    /// How it uses standard input: as data (`text`), as a shell script if no command is given (`script`), or as SQL (`statements`). Default: `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdin: Option<StdinWire>,
    /// Number of words with which it prints the names of everything that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    lists: Option<usize>,
    /// Options of which one is required for it to print these names.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    lists_with: Texts,

    /// Words that are files which it reads: `word...`, `word 2...`, `word 1`, `word last` or `none`. Default: `word...`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reads: Option<String>,
    /// Words that are files which it writes. Default: `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    writes: Option<String>,
    /// Options whose value is a file that it writes. With `=` at its end, such as `--archive=`, an option has the file in the same word only.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    outputs: Texts,
    /// Options whose value is a file that it reads and may print.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    inputs: Texts,
    /// Options whose value is a key file that it uses and does not print.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    #[serde(rename = "keys")]
    secrets: Texts,
    /// Options of which one is required for words to be written.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    writes_with: Texts,
    /// Options with which it writes no file that words and options name.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    keeps: Texts,
    /// Options with which everything below a word is written.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    deep: Texts,
    /// Options with which the first word is a file, too.
    #[serde(skip_serializing_if = "Texts::is_empty")]
    first_is_file: Texts,
    /// Specific way to name files.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<FilesWire>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A list of texts; nested lists are flattened, so that lists can be shared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
struct Texts(Vec<String>);

impl Texts {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "text")]
        enum Item {
            One(String),
            Several(Vec<String>),
        }
        let items = Vec::<Item>::deserialize(deserializer)?.into_iter();
        Ok(Self(
            items
                .flat_map(|item| match item {
                    Item::One(text) => vec![text],
                    Item::Several(texts) => texts,
                })
                .collect(),
        ))
    }
}

/// See [`Guess`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum GuessWire {
    Always,
    ByName,
    Never,
}

/// See [`HostWords`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum HostWordsWire {
    First,
    Remote,
}

/// See [`Prints`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum PrintsWire {
    Input,
    Answers,
    FileNames,
    ProcessIds,
}

/// See [`Stated`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum StatedWire {
    Reads,
    Writes,
    Changes,
    Unknown,
}

/// See [`Check`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckWire {
    SedScript,
    AwkProgram,
    Sql,
    FindExpression,
    ArchiveMode,
    HttpRequest,
    AnsibleModule,
    SqlWords,
    Flux,
    ForgeApi,
    KeyValue,
    Mongo,
    Socket,
    SftpBatch,
    ExCommands,
}

/// See [`Verb`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum VerbWire {
    Restart,
    Stop,
    Start,
    Scale,
    Deploy,
    Rollback,
    Uninstall,
    Create,
    Send,
    Loosen,
}

/// See [`Stdin`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum StdinWire {
    Text,
    Script,
    Statements,
}

/// See [`FileHow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum FilesWire {
    Copy,
    Dd,
    Archive,
    Downloads,
    Search,
    Engine,
    Clone,
    WorkingTree,
    Rights,
    Mount,
    Sqlite,
    InCode,
    Environment,
    TextSearch,
    Explained,
}

/// Recipients of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct RecipientsWire {
    /// Whether the operators are recipients. Default: `false`.
    operators: bool,
    /// Whether the words are recipients; without one, nothing is sent. Default: `false`.
    words: bool,
    /// Options whose value is a recipient.
    options: Texts,
    /// Options whose value is a header line of the message.
    headers: Texts,
    /// Options with which the message states the recipients.
    in_message: Texts,
    /// Options with which a file states the recipients.
    in_file: Texts,
}

/// Entries in the order of the file: of two that fit equally well, the first one applies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entries(pub Vec<(String, EntryWire)>);

impl Entries {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Entries {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, entry)| (name, entry)))
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut verbs = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    verbs.push(entry);
                }
                Ok(Entries(verbs))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

impl<'de> Deserialize<'de> for EntryWire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordOrMap;

        impl<'de> Visitor<'de> for WordOrMap {
            type Value = EntryWire;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`reads`, `writes`, `changes`, `unknown`, or a map of keys")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<EntryWire, E> {
                let effect = match word {
                    "reads" => StatedWire::Reads,
                    "writes" => StatedWire::Writes,
                    "changes" => StatedWire::Changes,
                    "unknown" => StatedWire::Unknown,
                    _ => return Err(E::invalid_value(serde::de::Unexpected::Str(word), &self)),
                };
                Ok(EntryWire(Box::new(Keys { effect: Some(effect), ..Keys::default() })))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<EntryWire, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map))
                    .map(|keys| EntryWire(Box::new(keys)))
            }
        }

        deserializer.deserialize_any(WordOrMap)
    }
}

impl EntryWire {
    /// The examples of the description, `matches` and `differs`.
    pub fn examples(&self) -> (&[String], &[String]) {
        (&self.0.matches.0, &self.0.differs.0)
    }

    /// The description without its examples, which have been checked.
    #[must_use]
    pub fn proved(mut self) -> Self {
        self.0.matches = Texts::default();
        self.0.differs = Texts::default();
        self
    }

    /// Whether it states an action, or a command that is run, for at least one form.
    pub fn acts(&self) -> bool {
        let acts = |keys: &Keys| {
            keys.does.is_some() || keys.runs.is_some() || keys.then.is_some() || !keys.commands.is_empty()
        };
        acts(&self.0) || self.0.verbs.0.iter().any(|(_, entry)| acts(&entry.0))
    }
}
