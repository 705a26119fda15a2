//! Secrets that their lines do not show: the data of a Kubernetes Secret, the value below a key of YAML, and the end of a
//! private key whose beginning is missing.

use std::ops::Range;

use memchr::memmem::{self, find_iter};

use super::placeholder::is_secret;

/// The longest line of a private key with what a program prints before it, in bytes.
const LONGEST_KEY_LINE: usize = 160;

/// The texts of which one states that an object is a Secret.
const KINDS: [&str; 2] = ["kind: Secret", "kind\": \"Secret\""];

/// The data of a Secret on one line begins after one of these texts.
const DATA: [&str; 4] = ["\"data\":{", "\"stringData\":{", "\\\"data\\\":{", "\\\"stringData\\\":{"];

/// Keys whose value may be below them, at their ends.
const KEYS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "private_key",
    "privatekey",
    "private-key",
    "api_key",
];

/// The secrets of blocks. `known` are the secrets that have been found, in order.
pub fn find(text: &str, known: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let has = |part: &str| memmem::find(text.as_bytes(), part.as_bytes()).is_some();
    let names_a_secret = has("Secret");
    if names_a_secret && KINDS.iter().any(|kind| has(kind)) || has_scalar(text.as_bytes()) {
        let lines: Vec<Line<'_>> = lines(text).collect();
        for at in 0..lines.len() {
            add_secret(&lines, at, &mut spans);
            add_scalar(&lines, at, &mut spans);
        }
    }
    if names_a_secret && (has("kind\":\"Secret\"") || has("kind\\\":\\\"Secret\\\"")) {
        for data in DATA {
            add_inline(text, data, &mut spans);
        }
    }
    for end in find_iter(text.as_bytes(), "-----END ") {
        let before = known.partition_point(|span| span.start <= end);
        let last = before.checked_sub(1).and_then(|last| known.get(last));
        if last.is_none_or(|span| span.end <= end) {
            spans.extend(key_before(text, end));
        }
    }
    spans
}

/// Whether the value of a key of YAML may be below it: `key: |` or `key: >`.
fn has_scalar(text: &[u8]) -> bool {
    let mut marks = memchr::memchr2_iter(b'|', b'>', text);
    marks.any(|at| text.get(..at).is_some_and(|before| before.ends_with(b": ")))
}

/// A line of YAML or of indented JSON.
#[derive(Clone, Copy)]
struct Line<'a> {
    /// Where its text begins, after blanks and dashes.
    at: usize,
    /// The column of its text.
    column: usize,
    /// Whether it begins an entry of a list.
    begins: bool,
    /// Its text without its end.
    text: &'a str,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut from = 0;
    text.split('\n').map(move |line| {
        let start = from;
        from += line.len() + 1;
        let blanks = line.trim_start_matches(' ');
        let begins = blanks.starts_with("- ");
        let rest = blanks.trim_start_matches("- ");
        let column = line.len() - rest.len();
        Line { at: start + column, column, begins, text: rest.trim_end() }
    })
}

impl<'a> Line<'a> {
    /// The key and the value, without quotes and the comma after it.
    fn entry(&self) -> Option<(&'a str, &'a str)> {
        let (key, value) = self.text.split_once(':')?;
        let value = value.trim_start();
        Some((key.trim_matches('"'), value.strip_suffix(',').unwrap_or(value)))
    }

    fn is_below(&self, column: usize) -> bool {
        self.text.is_empty() || self.column > column
    }

    /// The place of a part of its text.
    fn span(&self, part: &str) -> Range<usize> {
        let start = self.at + (part.as_ptr() as usize - self.text.as_ptr() as usize);
        start..start + part.len()
    }

    /// Adds its value, or all of it if it has no key.
    fn add_value(&self, spans: &mut Vec<Range<usize>>) {
        let value = self.entry().map_or(self.text, |(_, value)| value).trim_matches(['"', '\'']);
        let is_structure = value.bytes().all(|byte| b"{}[],|>-+ ".contains(&byte));
        if !is_structure && is_secret(value, "", false) {
            spans.push(self.span(value));
        }
    }
}

/// Adds the data of the Secret whose kind a line states. Its other keys are in the lines around it, in the same column.
fn add_secret(lines: &[Line<'_>], at: usize, spans: &mut Vec<Range<usize>>) {
    let is_kind = |line: &&Line<'_>| matches!(line.entry(), Some(("kind", "Secret" | "\"Secret\"")));
    let Some(kind) = lines.get(at).filter(is_kind) else { return };
    let is_key = |line: &Line<'_>, keys: &[&str]| {
        line.column == kind.column && line.entry().is_some_and(|(key, _)| keys.contains(&key))
    };
    let ends = |line: &Line<'_>| {
        !line.is_below(kind.column) && line.column < kind.column
            || line.text.starts_with("---")
            || is_key(line, &["kind"])
    };
    let mut first = at;
    while let Some(before) = first.checked_sub(1).and_then(|before| lines.get(before)) {
        let is_first = lines.get(first).is_some_and(|line| line.begins && line.column == kind.column);
        if is_first || ends(before) {
            break;
        }
        first -= 1;
    }
    let mut is_in_data = false;
    for (number, line) in lines.iter().enumerate().skip(first) {
        if number > at && (ends(line) || line.begins && line.column == kind.column) {
            return;
        }
        if is_key(line, &["data", "stringData"]) {
            is_in_data = true;
        } else if is_in_data && line.is_below(kind.column) {
            line.add_value(spans);
        } else {
            is_in_data = false;
        }
    }
}

/// Adds the lines below a key that marks a secret: a block scalar of YAML.
fn add_scalar(lines: &[Line<'_>], at: usize, spans: &mut Vec<Range<usize>>) {
    let Some(line) = lines.get(at) else { return };
    let is_block = |value: &str| matches!(value, "|" | "|-" | "|+" | ">" | ">-" | ">+");
    let Some((key, _)) = line.entry().filter(|(_, value)| is_block(value)) else { return };
    let key = key.to_lowercase();
    if KEYS.iter().any(|known| key.ends_with(known)) {
        let below = lines.iter().skip(at + 1).take_while(|below| below.is_below(line.column));
        for below in below.filter(|below| !below.text.is_empty()) {
            spans.push(below.span(below.text));
        }
    }
}

/// Adds the data of Secrets on one line.
fn add_inline(text: &str, data: &str, spans: &mut Vec<Range<usize>>) {
    for at in find_iter(text.as_bytes(), data) {
        let start = at + data.len();
        let length = text.get(start..).and_then(|rest| rest.find('}'));
        if let Some(length) = length.filter(|length| *length > 0) {
            spans.push(start..start + length);
        }
    }
}

/// The lines of a private key before its end, which is at `end`.
fn key_before(text: &str, end: usize) -> Option<Range<usize>> {
    let line = text.get(end..)?.lines().next()?;
    if !line.get(..LONGEST_KEY_LINE).unwrap_or(line).contains("PRIVATE KEY-----") {
        return None;
    }
    let mut start = end;
    while let Some(before) = text.get(..start).and_then(|before| before.strip_suffix('\n')) {
        let from = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.get(from..)?;
        let last = line.trim_end().rsplit([' ', ':', '\t', '-']).next()?;
        let shortest = if start == end { 4 } else { 32 };
        let is_key = last.len() >= shortest
            && last.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        if line.len() > LONGEST_KEY_LINE || !is_key {
            break;
        }
        start = from;
    }
    (start < end).then_some(start..end)
}
