//! Where the code of an interpreter's command line comes from.

use crate::shell::Word;

/// What is known of a command line.
pub enum Code {
    /// It shows its version, or checks a file.
    Looks,
    /// It runs this code.
    Runs(String),
    /// It runs a module that is a program of its own: `python -m pip`.
    Module(usize),
}

/// The code in a word or on standard input, if all of it is known.
pub fn known(word: Option<&Word>) -> Option<Code> {
    word?.known().map(|code| Code::Runs(code.to_owned()))
}
