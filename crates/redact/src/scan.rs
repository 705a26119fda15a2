//! The places of a text beside which a rule may match, in one pass.

use super::beginning::{contains, five, is_of_run};
use super::built_in::{BEGINS, BYTES, GROUPS, LONG, PAIRS, RULES, RUNS, SELECTORS, SHORT};
use super::placeholder::is_mixed;
use super::rule::Rule;

/// What may end a name after a text that selects a rule, beside digits: `secret_key_base`, `credentials`.
const ENDINGS: [&[u8]; 8] = [b"s", b"id", b"_id", b"-id", b"base", b"_base", b"-base", b"_url"];

/// The longest of [`ENDINGS`], in bytes, and one more.
const LONGEST_ENDING: usize = 6;

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
    let (mut run, mut four) = (0_usize, 0_u32);
    // The byte here is the third of three, which begin two before it.
    for end in 0..bytes.len() + 2 {
        let byte = bytes.get(end).copied().unwrap_or_default();
        let [small, of_run] = BYTES.get(usize::from(byte)).copied().unwrap_or_default();
        four = four << 8 | u32::from(small);
        run = if of_run == 1 { run + 1 } else { 0 };
        let three = four & 0x00FF_FFFF;
        if run == shortest {
            add_run(bytes, end + 1 - run, &mut hits);
        }
        if contains(&BEGINS, three) && end >= 2 && (contains(&SHORT, three) || goes_on(bytes, end, three)) {
            add_selected(bytes, end - 2, three, &mut hits);
        }
    }
    hits.sort_unstable();
    hits
}

/// Whether a text that selects a rule may go on after three bytes, of which the last one is here.
fn goes_on(bytes: &[u8], end: usize, three: u32) -> bool {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default().to_ascii_lowercase();
    contains(&LONG, five(three, byte(end + 1), byte(end + 2)))
}

/// Adds the rules that the run selects which begins here.
// Rare: the loop over all bytes stays small.
#[inline(never)]
fn add_run(bytes: &[u8], start: usize, hits: &mut Vec<Hit>) {
    let rest = bytes.get(start..).unwrap_or_default();
    let run = rest.iter().position(|byte| !is_of_run(*byte)).map_or(rest, |end| rest.split_at(end).0);
    let is_mixed = is_mixed(run);
    let selected = RUNS.iter().take_while(|(least, _)| *least <= run.len());
    let selected = selected.filter(|(_, rule)| is_mixed || RULES.get(*rule).is_some_and(|rule| !rule.mixed));
    hits.extend(selected.map(|(_, rule)| Hit { rule: *rule, at: start }));
}

/// Adds the rules of the selectors with which the text goes on: those that begin with these three bytes, and those of two.
// Rare: the loop over all bytes stays small.
#[inline(never)]
fn add_selected(bytes: &[u8], at: usize, three: u32, hits: &mut Vec<Hit>) {
    let rest = bytes.get(at..).unwrap_or_default();
    let pair = three & 0x00FF_FF00;
    let has_pair = PAIRS.binary_search(&pair).is_ok();
    for key in [pair, three].into_iter().skip(usize::from(!has_pair)) {
        let Ok(group) = GROUPS.binary_search_by_key(&key, |(key, ..)| *key) else { continue };
        let Some((_, first, end)) = GROUPS.get(group) else { continue };
        for (selector, rules) in SELECTORS.get(*first..*end).unwrap_or_default() {
            let selector = selector.as_bytes();
            let is_here = rest.get(..selector.len()).is_some_and(|here| here.eq_ignore_ascii_case(selector));
            let after = rest.get(selector.len()..).filter(|_| is_here);
            hits.extend(after.into_iter().flat_map(|after| selected(bytes, at, after, rules)));
        }
    }
}

/// The rules of a selector that may match, before `after`.
fn selected(bytes: &[u8], at: usize, after: &[u8], rules: &[usize]) -> impl Iterator<Item = Hit> {
    let may_match =
        move |rule: &Rule| (rule.command.is_empty() || is_word(bytes, at, after)) && is_followed(after, rule);
    let rules = rules.iter().filter(move |rule| RULES.get(**rule).is_some_and(may_match));
    rules.map(move |rule| Hit { rule: *rule, at })
}

/// Whether a selector stands alone: the name of a program is a whole word.
fn is_word(bytes: &[u8], at: usize, after: &[u8]) -> bool {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    !before.is_some_and(u8::is_ascii_alphanumeric) && after.first().is_some_and(u8::is_ascii_whitespace)
}

/// Whether one of the characters follows that a rule states, after the end of the name, a quote and blanks, and a value after
/// it.
fn is_followed(after: &[u8], rule: &Rule) -> bool {
    if rule.then.is_empty() {
        return true;
    }
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name = after.iter().take(LONGEST_ENDING).take_while(|byte| is_of_name(byte)).count();
    let (name, rest) = after.split_at_checked(name).unwrap_or_default();
    let is_ending =
        name.iter().all(u8::is_ascii_digit) || ENDINGS.iter().any(|ending| name.eq_ignore_ascii_case(ending));
    let mut rest = rest.iter().skip_while(|byte| matches!(byte, b'\\' | b'"' | b'\'' | b' ' | b'\t'));
    let is_stated = is_ending && rest.next().is_some_and(|byte| rule.then.as_bytes().contains(byte));
    let mut value = rest.skip_while(|byte| matches!(byte, b' ' | b'\t'));
    is_stated && (rule.whole || value.next().is_some_and(|byte| !matches!(byte, b'\n' | b'[' | b'{')))
}
