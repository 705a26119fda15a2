//! The command that a program runs.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IntoDeserializer};
use serde::ser::{Serialize, Serializer};

use super::constant::{Constant, Statics, plain};
use super::keys::{self, Read, invalid};
use super::list::Options;
use super::words::Target;
use crate::catalogue::options::Name;

keys::keys! {
    /// How a program takes the command that it runs.
    #[allow(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
    pub struct Runs {
        /// How it takes the command that it runs: `command` (a program and its arguments), `joined` (words that a shell reads), `typed` (keys for a running shell), or a specific way such as `shell`, `ssh` or `code python`.
        #[key = "runs"]
        #[default(How::Command)]
        pub how: How,
        /// Number of words before the command. `-1`: its words are never a command. Default: 0.
        #[default(After(Some(0)))]
        pub after: After,
        /// Options of which one is required for the words to be a command.
        pub words_need: Options,
        /// Options whose value is a script.
        pub script: Options,
        /// Options whose value contains words of the command.
        pub split: Options,
        /// Options that the command follows immediately.
        pub at_once: Options,
        /// Options with which the words are not joined, for `runs: joined`.
        pub exact: Options,
        /// Options with which the words are keys for a running shell.
        pub typed: Options,
        /// Options whose value is a variable that the command gets: `NAME=value`, or `NAME` for one of the environment.
        pub sets: Options,
        /// Whether `NAME=value` words may precede the command. Default: `false`.
        pub assigns: bool,
        /// Whether the first word is the root folder of the command. Default: `false`.
        pub rooted: bool,
        /// Whether the command runs in a container, a virtual machine or another root. Default: `false`.
        pub inside: bool,
        /// What the command runs in: a kind and a position, such as `container 1` or `guest 1`. A unit, or a program of a supervisor, that the command acts on then belongs to its service.
        pub within: Option<Target>,
        /// Whether the command gets the whole environment. Default: `false`.
        pub environment: bool,
        /// Where the command may not get the exported variables: the options with which it gets them, if there are any.
        pub keeps_with: Option<Options>,
        /// Whether the command runs repeatedly. Default: `false`.
        pub repeats: bool,
        /// Options with which the command runs repeatedly.
        pub timers: Options,
        /// Options whose value is the working directory of the command.
        pub dir: Options,
        /// Options with which, as with the word `-`, the command runs in the home of its user.
        pub home_with: Options,
        /// Whether a `--` after the first word of the command is removed. Default: `false`.
        pub drops_dashes: bool,
        /// Options with which standard input is a script if no command is given.
        pub stdin_with: Options,
    }
}

impl Runs {
    /// Whether the value of this option, or of the one that it abbreviates, is a script.
    pub fn takes_script(&self, option: Name<'_>) -> bool {
        option.is_any(&self.script) || option.begins(&self.script)
    }
}

/// The number of words before a command, such as a time limit or a container; `None` if the words are never a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct After(pub Option<usize>);

/// The form of a command in the words of the program that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case", remote = "Self")]
pub enum How {
    /// A program and its arguments.
    Command,
    /// Words that are joined and read by a shell.
    Joined,
    /// Keys for a running shell.
    Typed,
    /// A shell: `-c SCRIPT`, a file, standard input.
    Shell,
    /// A script on another host, as for ssh.
    Ssh,
    /// An Ansible module.
    Ansible,
    /// The lines of a crontab.
    Crontab,
    /// A command that runs for the words on standard input, as for xargs.
    Xargs,
    /// A command that runs for each word on standard input or after `:::`, as for parallel.
    Parallel,
    /// A command that runs for each found file, after `-exec`.
    Find,
    /// A command that runs for each found file, after `-x`.
    Fd,
    /// The recipes of a makefile.
    Make,
    /// The scripts of a `package.json`.
    Package,
    /// The recipes of a justfile.
    Just,
    /// The tasks of a Taskfile.
    Task,
    /// The tasks of mise.
    Mise,
    /// Every program in a folder, as for run-parts.
    RunParts,
    /// An alias of git, or its hooks.
    Git,
    /// What a unit of systemd runs, beside the action.
    Unit,
    /// The code of another language: `code python`.
    #[serde(skip)]
    Code(Language),
}

/// A language whose code is searched for commands that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Python.
    Python,
    /// Perl.
    Perl,
    /// Ruby.
    Ruby,
    /// JavaScript for Node.js.
    Node,
    /// JavaScript for Deno and Bun.
    Deno,
    /// awk.
    Awk,
    /// PHP.
    Php,
    /// Lua.
    Lua,
}

plain! { After, ""; }
keys::choices! { Language }

impl Read for How {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = String::deserialize(deserializer)?;
        let word = |word| IntoDeserializer::<D::Error>::into_deserializer(word);
        match written.strip_prefix("code ") {
            Some(language) => Language::deserialize(word(language)).map(Self::Code),
            None => Self::deserialize(word(&written)),
        }
    }
}

impl Serialize for How {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Code(language) => serializer.collect_str(&format_args!("code {language}")),
            how => Self::serialize(how, serializer),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Read for After {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let count = i64::deserialize(deserializer)?;
        match usize::try_from(count) {
            Ok(count) => Ok(Self(Some(count))),
            Err(_) if count == -1 => Ok(Self(None)),
            Err(_) => Err(invalid(&count.to_string(), "`0` or more words, or `-1`")),
        }
    }
}

impl Serialize for After {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(count) => count.serialize(serializer),
            None => (-1).serialize(serializer),
        }
    }
}

impl Constant for How {
    fn type_name() -> String {
        "How".to_owned()
    }

    fn expression(&self, statics: &mut Statics) -> String {
        match self {
            Self::Code(language) => format!("How::Code({})", language.expression(statics)),
            how => format!("How::{how:?}"),
        }
    }
}
