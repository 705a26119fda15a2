//! Languages other than bash, as far as commands contain them: one lexer and one list of names for each, used by the reader,
//! which finds the commands that code starts, and by the policy, which proves that code only reads.

pub(crate) mod names;
