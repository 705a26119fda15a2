//! Why a part of a command has its effect.

use opsctl_reader::terms::action::ActionKind;

/// Why a part of a command has its effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum Why {
    #[error("from the catalogue of programs")]
    Stated,
    #[error("it runs the command below it")]
    RunsPart,
    #[error("it is {}", in_words(*.0))]
    Acts(Option<ActionKind>),
    #[error("it writes `{0}`")]
    Writes(String),
    #[error(
        "it reads every file that it finds in `{0}`, secret ones too; name the files, or leave `.env*` out \
         (`--exclude='.env*'`, `find ! -name '.env*'`)"
    )]
    Searches(String),
    #[error("its program is known only when it runs")]
    UnknownProgram,
    #[error("`{0}` is not in the catalogue of programs")]
    NotListed(String),
    #[error("the verb of `{0}` is known only when it runs")]
    UnknownVerb(String),
    #[error("the catalogue does not state that `{0}` only reads")]
    NotStated(String),
    #[error("the command that `{0}` runs is not known")]
    RunsUnknown(String),
    #[error("`{0}` is a file that may do anything")]
    ScriptOnDisk(String),
    #[error("this session may write `{0}`, so it may be another script when it runs")]
    ScriptInScratch(String),
    #[error(
        "the `cd` before it may not run, so it may run a script of another folder; name the script by its absolute path"
    )]
    DoubtfulFolder,
    #[error("the variable `{0}` can make it run something else")]
    Variable(String),
    #[error("the option `{0}` changes something")]
    Option(String),
    #[error("the value of the option `{0}` may make it run, load or write something")]
    OptionValue(String),
    #[error("the catalogue does not list the option `{0}`")]
    UnknownOption(String),
    #[error("the folder that it works in may be written by this session, and may make it run something")]
    OwnFolder,
    #[error("`{0}` may be an option that changes something")]
    MaybeOption(String),
    #[error("`{0}` may be an option that changes something")]
    MaybeOperand(String),
    #[error("without `{0}` it changes something")]
    LacksOption(&'static str),
    #[error("with these words it changes something")]
    Word,
    #[error("it is code that may do anything")]
    Code,
    #[error("a statement in it changes something")]
    Statement,
    #[error("`policy.tools` in hosts.yaml states what MCP tools do")]
    Tool,
    #[error("it cannot be read")]
    Unread,
    #[error("it cannot be read: {0}")]
    UnreadBecause(String),
}

fn in_words(action: Option<ActionKind>) -> String {
    match action {
        Some(ActionKind::Forbidden) => "always denied".to_owned(),
        Some(kind) => format!("a {}", kind.in_words()),
        None => "an action".to_owned(),
    }
}
