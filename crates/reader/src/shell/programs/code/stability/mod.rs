//! Variables of code whose values may change in ways that are not followed: aliases, references, names that are computed, and
//! one name for several variables.
//!
//! One scan of the tokens of a piece of code finds their names; the evaluator takes their values as unknown.

mod changes;
mod perl;
mod php;
mod python;
mod ruby;
mod script;

use std::collections::BTreeSet;

use crate::catalogue::program::Language;
use crate::languages::lexer::located_tokens;
use changes::Scan;

/// The maximum number of tokens that are searched; in longer code any variable may change.
const MOST_TOKENS: usize = 6_000;

/// Names of variables whose values are unknown.
#[derive(Debug, Default)]
pub(super) struct Unstable {
    /// Whether it may be any variable.
    pub all: bool,
    pub names: BTreeSet<String>,
}

impl Unstable {
    /// The variables of a piece of code whose values are unknown.
    pub fn of(code: &str, language: Language) -> Self {
        let find = match language {
            Language::Perl => perl::unstable,
            Language::Php => php::unstable,
            Language::Python => python::unstable,
            Language::Ruby => ruby::unstable,
            Language::Node | Language::Deno => script::unstable,
            _ => return Self::default(),
        };
        let (tokens, starts) = located_tokens(code, language);
        if tokens.len() > MOST_TOKENS {
            return Self { all: true, names: BTreeSet::new() };
        }
        let (all, names) = find(&Scan::of(code, &tokens, &starts));
        Self { all, names }
    }

    /// Whether the value of a variable is unknown.
    pub fn has(&self, name: &str) -> bool {
        let own = name.strip_prefix("self.").unwrap_or(name).trim_start_matches(['@', '$']);
        self.all || self.names.contains(own)
    }

    /// Adds the variables of another piece of code.
    pub fn extend(&mut self, other: Self) {
        self.all |= other.all;
        self.names.extend(other.names);
    }
}
