//! Complaints: parts of a command that could not be read.

use super::disk::Unreadable;
use super::grammar::error::SyntaxError;

/// A part of a command that the reader cannot follow. Such a command is never taken for one that only reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum Complaint {
    #[error("cannot read `{text}`: {problem}")]
    Syntax { text: String, problem: SyntaxError },
    #[error("cannot read a here-document: {0}")]
    HereDocument(SyntaxError),
    #[error("what `{0}` runs is not known")]
    Runs(String),
    #[error(
        "arithmetic runs the substitutions in `{0}`, which may be any text: compare with `[ … -gt … ]`, or keep its digits: `tr -dc 0-9`"
    )]
    Evaluates(String),
    #[error("what the {0} code runs is not known")]
    Code(String),
    #[error("Python may load `{0}` in place of its own module: `python3 -I` does not")]
    Replaces(String),
    #[error("which program `{0}` is cannot be determined")]
    Program(String),
    #[error("what `{program}` does cannot be determined: `{verb}` is unknown")]
    Verb { program: String, verb: String },
    #[error("a brace expansion is too long")]
    LongBraces,
    #[error("an array grows beyond what can be followed")]
    LongArray,
    #[error("a loop has more rounds than can be followed")]
    LongLoop,
    #[error("a variable may have more values than can be followed")]
    ManyValues,
    #[error("a variable grows beyond what can be followed")]
    LongVariable,
    #[error("a command has more or longer words than can be followed")]
    ManyWords,
    #[error("a command may run in more folders than can be followed")]
    ManyFolders,
    #[error("it calls more functions than can be followed")]
    ManyCalls,
    #[error("it does more than can be followed")]
    ManySteps,
    #[error("it carries out more actions than can be listed")]
    ManyActions,
    #[error("it holds more text than can be followed")]
    MuchText,
    #[error("it nests too deeply")]
    Deep,
    #[error("`xargs` runs more often than can be followed")]
    ManyItems,
    #[error("cannot read the script `{path}`: {why}")]
    File { path: String, why: Unreadable },
    #[error("the command changes `{0}` before it runs it")]
    ChangedFile(String),
    #[error("`{0}` may run more than can be followed")]
    PartialFile(String),
    #[error("it runs more files than can be followed")]
    ManyFiles,
}
