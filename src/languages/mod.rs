//! Languages other than bash, as far as commands contain them: one lexer and one list of names for each, used by the reader,
//! which finds the commands that code starts, and by the policy, which proves that code only reads.

pub(crate) mod awk;
pub(crate) mod lexer;
pub(crate) mod names;
pub(crate) mod sed;
pub(crate) mod sources;
pub(crate) mod sql;
pub(crate) mod text;

#[cfg(test)]
pub(crate) mod cases;
