//! Why a part of a command has its effect.

use std::fmt;

use opsctl_reader::terms::action::ActionKind;

/// Why a part of a command has its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The catalogue states it of this form.
    Stated,
    /// It runs another command, which is a part of its own.
    RunsPart,
    /// It carries out an action.
    Acts(Option<ActionKind>),
    /// It writes this file.
    Writes(String),
    /// It reads every file below this folder.
    Searches(String),
    /// The program is only known when the command runs.
    UnknownProgram,
    /// The program is not in the catalogue.
    NotListed(String),
    /// Which verb of the program it is, only the run knows.
    UnknownVerb(String),
    /// The catalogue states no effect of this form.
    NotStated(String),
    /// The program runs a command that is not known.
    RunsUnknown(String),
    /// It is a script or a program in a folder of its own, or reads one.
    ScriptOnDisk(String),
    /// It runs a file that the session may write, and that may be another one when it runs.
    ScriptInScratch(String),
    /// The folder of a script may be another one when it runs.
    DoubtfulFolder,
    /// A variable makes the program run or load something else.
    Variable(String),
    /// This option changes something, or may.
    Option(String),
    /// The value of this option may be a program, or make the program run, load or write something.
    OptionValue(String),
    /// The catalogue does not list this option.
    UnknownOption(String),
    /// It works in a folder that the session may write, whose settings may run something.
    OwnFolder,
    /// A word that is known only when it runs may be an option.
    MaybeOption(String),
    /// Without this option it changes something.
    LacksOption(&'static str),
    /// With one of its words it changes something.
    Word,
    /// It is code that may do anything.
    Code,
    /// A statement or an expression in it changes something, or may.
    Statement,
    /// Nothing is stated of the MCP tool but this.
    Tool,
    /// The text cannot be read.
    Unread,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated => f.write_str("from the catalogue of programs"),
            Self::RunsPart => f.write_str("it runs the command below it"),
            Self::Acts(Some(ActionKind::Forbidden)) => f.write_str("it is always denied"),
            Self::Acts(Some(kind)) => write!(f, "it is a {}", kind.as_str().replace('_', " ")),
            Self::Acts(None) => f.write_str("it is an action"),
            Self::Writes(path) => write!(f, "it writes `{path}`"),
            Self::Searches(folder) => write!(
                f,
                "it reads every file that it finds in `{folder}`, secret ones too; name the files, or leave `.env*` out \
                 (`--exclude='.env*'`, `find ! -name '.env*'`)"
            ),
            Self::UnknownProgram => f.write_str("its program is known only when it runs"),
            Self::NotListed(program) => write!(f, "`{program}` is not in the catalogue of programs"),
            Self::UnknownVerb(program) => write!(f, "the verb of `{program}` is known only when it runs"),
            Self::NotStated(form) => write!(f, "the catalogue does not state that `{form}` only reads"),
            Self::RunsUnknown(program) => write!(f, "the command that `{program}` runs is not known"),
            Self::ScriptOnDisk(path) => write!(f, "`{path}` is a file that may do anything"),
            Self::ScriptInScratch(path) => {
                write!(f, "this session may write `{path}`, so it may be another script when it runs")
            }
            Self::DoubtfulFolder => f.write_str(
                "the `cd` before it may not run, so it may run a script of another folder; name the script by its absolute path",
            ),
            Self::Variable(name) => write!(f, "the variable `{name}` can make it run something else"),
            Self::Option(option) => write!(f, "the option `{option}` changes something"),
            Self::OptionValue(option) => {
                write!(f, "the value of the option `{option}` may make it run, load or write something")
            }
            Self::OwnFolder => f.write_str(
                "the folder that it works in may be written by this session, and may make it run something",
            ),
            Self::MaybeOption(word) => write!(f, "`{word}` may be an option that changes something"),
            Self::UnknownOption(option) => write!(f, "the catalogue does not list the option `{option}`"),
            Self::LacksOption(option) => write!(f, "without `{option}` it changes something"),
            Self::Word => f.write_str("with these words it changes something"),
            Self::Code => f.write_str("it is code that may do anything"),
            Self::Statement => f.write_str("a statement in it changes something"),
            Self::Tool => f.write_str("`policy.tools` in hosts.yaml states what MCP tools do"),
            Self::Unread => f.write_str("it cannot be read"),
        }
    }
}
