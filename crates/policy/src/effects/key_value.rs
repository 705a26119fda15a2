//! Commands of Redis and its kin, in any case of letters.

use super::proof::{CHANGES, Proof, READS};
use super::reason::Why;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{Item, Scanner};
use opsctl_reader::languages::names;
use opsctl_reader::languages::redis::{self, changes, line_reads, reads};
use opsctl_reader::shell::Command;
use opsctl_reader::terms::effect::Effect;

/// The effect of a command line of `redis-cli`.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let (first, looks) = first_word(usage, texts);
    if let Some(first) = first {
        let words = texts.get(first..).unwrap_or_default();
        let known = |index: &usize| command.words.get(*index).is_some_and(|word| word.known().is_some());
        let named = words.len().min(2);
        let proved = (first..first + named).all(|index| known(&index)) || {
            // Only the name of a command without subcommands has to be known.
            known(&first)
                && names::redis::READING.get(&texts.get(first).unwrap_or(&"").to_ascii_lowercase()).is_none()
        };
        return match (proved, known(&first)) {
            (true, _) if reads(words) => READS,
            (_, true) if changes(words) => CHANGES,
            _ => (Effect::Unknown, Why::Statement),
        };
    }
    if looks {
        return READS;
    }
    match command.stdin.as_ref().map(opsctl_reader::shell::Word::known) {
        Some(Some(text)) if text.lines().all(line_reads) => READS,
        // The rules see no command that is read from the standard input.
        _ => (Effect::Unknown, Why::Unread),
    }
}

/// The place of the first word, which is the command, and whether an option asks for a report before it.
fn first_word(usage: &Usage, texts: &[&str]) -> (Option<usize>, bool) {
    let value = usage.value();
    let mut looks = false;
    // What follows the command belongs to it.
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, _) => looks |= name.is_any(names::redis::REPORTS.0),
            Item::Positional(index) => return (Some(index), looks),
            Item::Dashes(_) => {}
        }
    }
    (None, looks)
}

/// Whether a command that changes something is one that a repair needs.
pub fn repairs(usage: &Usage, texts: &[&str]) -> bool {
    let first = first_word(usage, texts).0;
    first.and_then(|first| texts.get(first..)).is_none_or(redis::repairs)
}
