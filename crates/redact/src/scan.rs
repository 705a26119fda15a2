//! The places of a text beside which a rule may match, in one pass.

use super::beginning::place;
use super::built_in::{BEGINS, RULES, RUNS, SELECTORS};

/// The longest part of a name after a text that selects a rule, such as `_base` in `secret_key_base`, in bytes.
const LONGEST_ENDING: usize = 5;

/// A place beside which a rule may match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// The number of the rule.
    pub rule: usize,
    /// Where the text or the run is that selects it.
    pub at: usize,
}

/// The places beside which rules may match, by rule, in order.
pub fn hits(text: &str) -> Vec<Hit> {
    let mut hits = Vec::new();
    let bytes = text.as_bytes();
    let shortest = RUNS.first().map_or(usize::MAX, |(run, _)| *run);
    let mut run = 0;
    let lower = |at: usize| bytes.get(at).map_or(0, u8::to_ascii_lowercase);
    let mut three = [0, lower(0), lower(1)];
    let after = bytes.iter().skip(2).map(u8::to_ascii_lowercase).chain([0, 0]);
    for ((at, byte), third) in bytes.iter().enumerate().zip(after) {
        let [_, first, second] = three;
        three = [first, second, third];
        if is_of_run(*byte) {
            run += 1;
        } else {
            if run >= shortest {
                add_run(at, run, &mut hits);
            }
            run = 0;
        }
        let (word, bit) = place(three);
        if BEGINS.get(word).is_some_and(|bits| bits >> bit & 1 == 1) {
            add_selected(text, at, [first, second], &mut hits);
        }
    }
    add_run(bytes.len(), run, &mut hits);
    hits.sort_unstable();
    hits
}

/// Whether a byte is part of a run.
pub const fn is_of_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-')
}

/// Adds the rules that a run of this length selects, which ends here.
fn add_run(end: usize, run: usize, hits: &mut Vec<Hit>) {
    let selected = RUNS.iter().take_while(|(least, _)| *least <= run);
    hits.extend(selected.map(|(_, rule)| Hit { rule: *rule, at: end - run }));
}

/// Adds the rules of the selectors with which the text goes on.
fn add_selected(text: &str, at: usize, pair: [u8; 2], hits: &mut Vec<Hit>) {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let from = SELECTORS.partition_point(|(selector, _)| selector.as_bytes() < pair.as_slice());
    let selectors = SELECTORS.get(from..).unwrap_or_default();
    for (selector, rule) in selectors.iter().take_while(|(known, _)| known.as_bytes().starts_with(&pair)) {
        let is_here =
            rest.get(..selector.len()).is_some_and(|here| here.eq_ignore_ascii_case(selector.as_bytes()));
        let Some(known) = RULES.get(*rule).filter(|_| is_here) else { continue };
        let after = rest.get(selector.len()..).unwrap_or_default();
        let is_word = || is_word(text, at, after);
        if (known.command.is_empty() || is_word())
            && (known.then.is_empty() || is_followed(after, known.then))
        {
            hits.push(Hit { rule: *rule, at });
        }
    }
}

/// Whether a selector stands alone: the name of a program is a whole word.
fn is_word(text: &str, at: usize, after: &[u8]) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    !before.is_some_and(u8::is_ascii_alphanumeric) && after.first().is_some_and(u8::is_ascii_whitespace)
}

/// Whether one of the characters follows, after the end of the name, a quote and blanks.
fn is_followed(after: &[u8], then: &str) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name = after.iter().take(LONGEST_ENDING).take_while(|byte| is_of_name(byte)).count();
    let mut rest =
        after.iter().skip(name).skip_while(|byte| matches!(byte, b'\\' | b'"' | b'\'' | b' ' | b'\t'));
    rest.next().is_some_and(|byte| then.as_bytes().contains(byte))
}
