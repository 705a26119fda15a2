//! Languages other than bash, as far as commands contain them: one lexer and one list of names for each, used by the reader,
//! which finds the commands that code starts, and by provers, which find that code only reads.

use crate::catalogue::program::Language;

pub mod awk;
#[cfg(test)]
pub(crate) mod cases;
mod files;
pub mod flux;
pub mod lexer;
mod literal;
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

/// Whether code is proved to only compute, print and read. With `starts`, it may start commands, which are judged apart;
/// `may_ask` states whether a GET of an address only reads.
pub fn only_reads(code: &str, language: Language, starts: bool, may_ask: &dyn Fn(&str) -> bool) -> bool {
    match language {
        Language::Python => python::is_harmless(code, starts, may_ask),
        Language::Node | Language::Deno => node::is_harmless(code, starts, may_ask),
        Language::Perl => perl::is_harmless(code, starts),
        Language::Ruby | Language::Php | Language::Lua => plain_words::is_harmless(code, language, starts),
        Language::Awk => false,
    }
}
