//! Text that could not be read may still be suspected: every word that names a program of a rule.

use std::sync::Arc;

use super::defaults::DEFAULTS;
use crate::model::rules::Rules;
use crate::policy::pattern;
use crate::shell::{Command, Unread, Word};

/// Commands that are suspected in one text; more would say nothing new.
const MOST_COMMANDS: usize = 64;
/// Words of a suspected command that are looked at.
const MOST_WORDS: usize = 24;

/// The commands that the words of a text might be.
pub fn commands(unread: &Unread, rules: &Rules) -> Vec<Command> {
    let ends_command = |c: char| matches!(c, ';' | '|' | '&' | '\n' | '(' | ')' | '`');
    let between = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']' | '{' | '}');
    let mut found = Vec::new();
    for part in unread.text.split(ends_command).filter(|part| !part.trim_start().starts_with('#')) {
        let words: Vec<&str> = part.split(between).filter(|word| !word.is_empty()).collect();
        for (at, word) in words.iter().enumerate() {
            if found.len() >= MOST_COMMANDS {
                return found;
            }
            let program = word.rsplit('/').next().unwrap_or(word);
            if !is_known(program, rules) {
                continue;
            }
            let words = words.iter().skip(at).take(MOST_WORDS);
            found.push(Command {
                words: words
                    .map(|word| if word.contains('$') { Word::unknown(*word) } else { Word::literal(*word) })
                    .collect(),
                hosts: Arc::clone(&unread.hosts),
                via: Arc::clone(&unread.via),
                cwd: unread.cwd.clone(),
                ..Command::default()
            });
        }
    }
    found
}

fn is_known(program: &str, rules: &Rules) -> bool {
    DEFAULTS.iter().flat_map(|rule| rule.patterns).any(|text| pattern::concerns(text, program))
        || rules.never.iter().flat_map(|rule| &rule.patterns).any(|text| pattern::concerns(text, program))
}
