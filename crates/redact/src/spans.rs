//! Where the secrets of a text are. A rule is searched in windows around the places that select it, so that the time is
//! linear in the length of the text.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem;
use regex_lite::Regex;

use super::beginning::is_of_run;
use super::blocks;
use super::built_in::RULES;
use super::placeholder::{is_mixed, is_secret};
use super::rule::Rule;
use super::scan::hits;
use super::token::is_of_token;

/// How far a window begins before the place that selects a rule, in bytes.
const BEFORE: usize = 64;

/// How far a window within a token begins before that place, in bytes: some tokens are recognised by their ends.
const BEFORE_IN_TOKEN: usize = 128;

/// How far a window goes beyond that place, in bytes, unless a secret goes on there.
const BEYOND: usize = 1024;

/// The part of a window at its end in which a match may be cut off, in bytes: what selects the rule there gets a window of
/// its own.
const MARGIN: usize = 256;

/// The longest token in which a run of characters selects a rule, in bytes: longer ones are data.
const LONGEST_RUN: usize = 1024;

/// The expressions of the rules, in their order: that of the command and that of the secret. `None`: not valid.
static EXPRESSIONS: LazyLock<Vec<OnceLock<Option<Expressions>>>> =
    LazyLock::new(|| RULES.iter().map(|_| OnceLock::new()).collect());

/// The compiled patterns of a rule.
struct Expressions {
    command: Option<Regex>,
    secret: Regex,
}

/// A part of a text that is searched for a rule.
struct Window {
    range: Range<usize>,
    /// Whether the text that belongs to it goes on.
    is_cut: bool,
}

/// The parts of a text that are secrets, in order, without overlaps.
pub fn spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for hits in hits(text).chunk_by(|one, other| one.rule == other.rule) {
        let Some(number) = hits.first().map(|hit| hit.rule) else { continue };
        if let Some(rule) = RULES.get(number) {
            search(number, rule, hits.iter().map(|hit| hit.at), text, &mut spans);
        }
    }
    let mut spans = merged(spans);
    let mut more = blocks::find(text, &spans);
    if more.is_empty() {
        return spans;
    }
    spans.append(&mut more);
    merged(spans)
}

/// Whether a rule redacts a text.
#[cfg(test)]
pub fn is_redacted_by(number: usize, text: &str) -> bool {
    let hits = hits(text);
    let hits = hits.iter().filter(|hit| hit.rule == number).map(|hit| hit.at);
    let mut spans = Vec::new();
    search(number, &RULES[number], hits, text, &mut spans);
    !spans.is_empty()
}

/// These parts in order, joined where they overlap or touch.
pub fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// Adds what a rule finds beside these places, which are in order.
fn search(
    number: usize,
    rule: &Rule,
    places: impl Iterator<Item = usize>,
    text: &str,
    spans: &mut Vec<Range<usize>>,
) {
    let mut done = 0;
    for at in places {
        if at < done {
            continue;
        }
        let mut beyond = BEYOND;
        while let Some(window) = window(text, rule, at, beyond) {
            let Some(part) = text.get(window.range.clone()).filter(|part| may_match(rule, part)) else {
                break;
            };
            let before = spans.len();
            let Some(()) = matches(number, rule, part, window.range.start, spans) else { return };
            let found = spans.get(before..).unwrap_or_default();
            if window.is_cut && found.iter().any(|span| span.end == window.range.end) {
                spans.truncate(before);
                beyond *= 4;
                continue;
            }
            done = match found.last() {
                Some(last) if rule.begins => last.end,
                None if rule.begins => done,
                _ => window.range.end.saturating_sub(if window.is_cut { MARGIN } else { 0 }),
            };
            break;
        }
    }
}

/// The part of a text around a place that is searched for a rule; `None` if the rule cannot match there.
fn window(text: &str, rule: &Rule, at: usize, beyond: usize) -> Option<Window> {
    let bytes = text.as_bytes();
    let reach = if rule.token > 0 { BEFORE_IN_TOKEN } else { BEFORE };
    let (first, last) = (at.saturating_sub(reach), bytes.len().min(at + beyond));
    let (before, after) = (bytes.get(first..at)?, bytes.get(at..last)?);
    let (start, end) = if rule.token > 0 {
        let start = before.iter().rposition(|byte| !is_of_token(*byte)).map_or(first, |at| first + at + 1);
        (start, after.iter().position(|byte| !is_of_token(*byte)))
    } else if rule.begins {
        (at, line_end(after))
    } else if rule.whole {
        (first, None)
    } else if rule.command.is_empty() {
        (before.iter().rposition(|byte| *byte == b'\n').map_or(first, |at| first + at + 1), line_end(after))
    } else {
        (at.saturating_sub(1), line_end(after))
    };
    let begins_line = start.checked_sub(1).is_none_or(|before| bytes.get(before) == Some(&b'\n'));
    let is_cut = end.is_none() && last < bytes.len();
    let end = end.map_or(last, |end| at + end);
    if rule.token > 0 && (end - start < rule.token || rule.run > 0 && end - start > LONGEST_RUN)
        || rule.pattern.starts_with('^') && !rule.begins && !begins_line
    {
        return None;
    }
    let (mut start, mut end) = (start, end);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Some(Window { range: start..end, is_cut })
}

/// Where a line ends. One that a backslash continues goes on.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let ends = memchr::memchr_iter(b'\n', bytes);
    ends.into_iter().find(|at| at.checked_sub(1).and_then(|before| bytes.get(before)) != Some(&b'\\'))
}

/// Whether a part of a text has what else a rule needs.
fn may_match(rule: &Rule, part: &str) -> bool {
    let bytes = part.as_bytes();
    let has =
        |needed: &&str| bytes.windows(needed.len()).any(|here| here.eq_ignore_ascii_case(needed.as_bytes()));
    let has_run = || bytes.split(|byte| !is_of_run(*byte)).any(|run| run.len() >= rule.run);
    (rule.beside.is_empty() || memmem::find(bytes, rule.beside.as_bytes()).is_some())
        && (!rule.mixed || is_mixed(bytes))
        && (rule.needs.is_empty() || rule.needs.iter().any(has))
        && (rule.run == 0 || has_run())
}

/// Adds the matches of a rule; `None` if it is not valid.
fn matches(
    number: usize,
    rule: &Rule,
    part: &str,
    offset: usize,
    spans: &mut Vec<Range<usize>>,
) -> Option<()> {
    let compile = || {
        let command = if rule.command.is_empty() { None } else { Some(Regex::new(rule.command).ok()?) };
        Some(Expressions { command, secret: Regex::new(rule.pattern).ok()? })
    };
    let Expressions { command, secret } = EXPRESSIONS.get(number)?.get_or_init(compile).as_ref()?;
    match command {
        None => add(secret, rule, part, offset, spans),
        Some(command) => {
            for found in command.find_iter(part) {
                add(secret, rule, found.as_str(), offset + found.start(), spans);
            }
        }
    }
    Some(())
}

/// Adds what the groups of a pattern capture, or without groups the whole match.
fn add(secret: &Regex, rule: &Rule, part: &str, offset: usize, spans: &mut Vec<Range<usize>>) {
    for found in secret.captures_iter(part) {
        for group in (usize::from(found.len() > 1)..found.len()).filter_map(|group| found.get(group)) {
            let after = part.get(group.end()..).unwrap_or_default();
            if is_secret(group.as_str(), after, rule.mixed) {
                spans.push(offset + group.start()..offset + group.end());
            }
        }
    }
}
