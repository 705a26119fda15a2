//! Statements of databases on the command line and on standard input.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::catalogue::program::EffectTerms;
use crate::model::effect::Effect;
use crate::policy::sql::{self, Functions};
use crate::shell::Command;

/// SQL in options, in words and on standard input.
pub fn effect(
    command: &Command,
    usage: &Usage,
    terms: &EffectTerms,
    texts: &[&str],
    in_words: bool,
    is_scratch: &dyn Fn(&str) -> bool,
) -> Proof {
    let value = usage.value();
    let mut statements = Vec::new();
    let mut words = 0;
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, Some(at)) if name.is_any(&terms.statements) => {
                statements.extend(command.words.get(at.index).map(|word| word.tail(at.offset)));
            }
            Item::Positional(index) => {
                words += 1;
                if in_words && words > 1 {
                    statements.extend(command.words.get(index).cloned());
                }
            }
            _ => {}
        }
    }
    if statements.is_empty() {
        statements.extend(command.stdin.clone());
    }
    if statements.is_empty() {
        return (Effect::Unknown, Why::Unread);
    }
    let functions = match usage.program.key {
        "psql" | "mysql" | "cockroach" => Functions::Listed,
        _ => Functions::BuiltIn,
    };
    for statement in &statements {
        match statement.known().and_then(|text| sql::reading(text, functions)) {
            Some(files) => {
                if let Some(file) = files.into_iter().find(|file| !is_scratch(file)) {
                    return (Effect::Changes, Why::Writes(file));
                }
            }
            None => return (Effect::Changes, Why::Statement),
        }
    }
    (Effect::Reads, Why::Stated)
}
