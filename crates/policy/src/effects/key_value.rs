//! Commands of Redis and its kin, in any case of letters.

use super::proof::{CHANGES, Proof, READS};
use super::reason::Why;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{Item, Scanner};
use opsctl_reader::languages::names;
use opsctl_reader::languages::redis::{changes, line_reads, reads};
use opsctl_reader::shell::Command;
use opsctl_reader::terms::effect::Effect;

/// The effect of a command line of `redis-cli`.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let value = usage.value();
    let mut looks = false;
    let mut first = None;
    // What follows the command belongs to it.
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, _) => looks |= name.is_any(names::redis::REPORTS.0),
            Item::Positional(index) => {
                first = Some(index);
                break;
            }
            Item::Dashes(_) => {}
        }
    }
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
