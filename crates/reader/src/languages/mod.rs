//! Languages other than bash, as far as commands contain them: one lexer and one list of names for each, used by the reader,
//! which finds the commands that code starts, and by provers, which find that code only reads.

pub mod awk;
#[cfg(test)]
pub(crate) mod cases;
mod files;
pub mod flux;
pub mod lexer;
pub mod mongo;
pub mod names;
pub mod node;
pub mod perl;
pub mod plain_words;
pub mod python;
pub mod redis;
pub mod sed;
pub mod sources;
pub mod sql;
pub mod text;
