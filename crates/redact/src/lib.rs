//! Redaction: removes secrets from text before it is printed, logged, stored or sent.
//!
//! `rules.yaml` states what secrets look like; `build.rs` turns it into constants. A rule is compiled when a line is
//! first found that may match it.

mod beginning;
mod rule;
mod variables;

#[cfg(test)]
#[allow(dead_code, reason = "the build script uses the rest")]
mod entry;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{LazyLock, OnceLock};

use regex_lite::Regex;
use serde_json::{Map, Value};

use opsctl_machine::held_variables;
use opsctl_reader::terms::plain_text;
use rule::Rule;

#[allow(clippy::unreadable_literal, reason = "the build script writes bare numbers")]
mod built_in;
use beginning::place;
use built_in::{BEGINS, RULES, SELECTORS};

/// The replacement for a secret.
const GONE: &str = "[redacted]";

/// How far [`shortened`] searches for secrets beyond the characters that it keeps, at most.
const AHEAD: usize = 2_000;

/// The least length of a part of a lost word that is redacted for itself, in bytes.
const SHORTEST_PART: usize = 4;

/// The redactor with the secret variables of this process.
static OF_PROCESS: LazyLock<Redactor> = LazyLock::new(|| {
    let own = std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value));
    let all = own.chain(held_variables::all().iter().cloned());
    Redactor::of_variables(all.map(|(name, value)| (name, value.to_string_lossy().into_owned())))
});

thread_local! {
    /// The secrets of the caller that this thread serves, and the words of [`CallerSecrets::lost_by`]. No verdict depends on them.
    static OF_CALLER: RefCell<Redactor> = const { RefCell::new(Redactor::NONE) };
}

/// The expressions of the rules, in their order: that of the command and that of the secret. `None`: not valid.
static EXPRESSIONS: LazyLock<Vec<OnceLock<Option<Expressions>>>> =
    LazyLock::new(|| RULES.iter().map(|_| OnceLock::new()).collect());

/// The compiled patterns of a rule.
struct Expressions {
    command: Option<Regex>,
    secret: Regex,
}

/// The text without secrets, including the values of this process's secret variables.
pub fn text(text: &str) -> Cow<'_, str> {
    OF_CALLER.with_borrow(|caller| caller.text_here(text))
}

/// The values of this process's secret variables.
pub fn own_values() -> &'static [String] {
    &OF_PROCESS.values
}

/// The text without secrets and hidden characters, truncated to `chars` characters. A secret that is cut may not be
/// recognised, so secrets are removed first.
pub fn shortened(text: &str, chars: usize) -> String {
    let read = plain_text::first_words(text, chars + AHEAD);
    plain_text::shortened(&self::text(&read), chars)
}

/// Secrets that [`text`] and [`json`] also remove on this thread, until this is dropped. What applied before then applies
/// again, also after a panic: the thread serves others.
#[must_use = "the secrets are removed until this is dropped"]
pub struct CallerSecrets {
    before: Redactor,
}

impl CallerSecrets {
    /// The secrets of a caller. For texts that are recorded or reported; a verdict depends on the [`Redactor`] of its request.
    pub fn of(Redactor { values }: Redactor) -> Self {
        let before = OF_CALLER.take();
        OF_CALLER.set(Redactor { values: values.into_iter().chain(before.values.iter().cloned()).collect() });
        Self { before }
    }

    /// The words that a command loses with its secrets. Bash takes the lines of a pasted key as commands, and no rule finds a
    /// line in a message that names it.
    pub fn lost_by(command: Option<&str>) -> Self {
        let lost = |command| OF_CALLER.with_borrow(|caller| caller.lost_words(command));
        Self::of(command.map(lost).unwrap_or_default())
    }
}

impl Drop for CallerSecrets {
    fn drop(&mut self) {
        OF_CALLER.set(std::mem::take(&mut self.before));
    }
}

/// Removes secrets from all strings in a JSON value, including the values of this process's secret variables.
pub fn json(value: &mut Value) {
    OF_PROCESS.json(value);
    OF_CALLER.with_borrow(|caller| {
        if !caller.values.is_empty() {
            caller.json(value);
        }
    });
}

/// The name of a service or host without secrets. Variables are not considered: the name identifies a budget, which must
/// not depend on the environment.
pub fn name(name: &str) -> Cow<'_, str> {
    by_rules(name).map_or(Cow::Borrowed(name), Cow::Owned)
}

/// Removes values of secret variables, and text that matches a rule.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    /// Values to redact, longest first.
    values: Vec<String>,
}

impl Redactor {
    /// A redactor without values.
    pub const NONE: Self = Self { values: vec![] };

    /// A redactor for these values.
    pub const fn of_values(values: Vec<String>) -> Self {
        Self { values }
    }

    /// A redactor for the variables whose names mark them as secrets.
    pub fn of_variables(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { values: variables::values(variables) }
    }

    /// A redactor for the words that this text has lost with its secrets: in a part of the text, no rule may find them.
    #[must_use]
    pub fn lost_words(&self, text: &str) -> Self {
        let redacted = self.text_here(text);
        if redacted == text {
            return Self::default();
        }
        let kept: HashSet<&str> = redacted.lines().collect();
        let changed: Vec<&str> = text.lines().filter(|line| !kept.contains(line)).collect();
        let changed = changed.join("\n").replace("\\n", "\n");
        let words = words_and_parts(&changed);
        let lost = words.into_iter().filter(|word| !redacted.contains(*word));
        let mut values: Vec<String> = lost.map(str::to_owned).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { values }
    }

    /// The text without secrets, including the values of this process's secret variables.
    pub fn text_here<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.is_empty() {
            return Cow::Borrowed(text);
        }
        let text = OF_PROCESS.text(text);
        if self.values.is_empty() { text } else { Cow::Owned(self.text(&text).into_owned()) }
    }

    /// The text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut redacted = Cow::Borrowed(text);
        for value in &self.values {
            if redacted.contains(value.as_str()) {
                redacted = Cow::Owned(redacted.replace(value.as_str(), GONE));
            }
        }
        match by_rules(&redacted) {
            Some(text) => Cow::Owned(text),
            None => redacted,
        }
    }

    /// Removes secrets from all strings in a JSON value, keys included. Strings whose keys mark them as secrets are
    /// redacted as a whole.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.json(value)),
            Value::Object(entries) => self.object(entries),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&self, entries: &mut Map<String, Value>) {
        for (key, value) in entries.iter_mut() {
            match value {
                Value::String(text) if !text.is_empty() && marks_a_secret(key) => GONE.clone_into(text),
                value => self.json(value),
            }
        }
        if entries.keys().any(|key| matches!(self.text(key), Cow::Owned(_))) {
            *entries = std::mem::take(entries)
                .into_iter()
                .map(|(key, value)| (self.text(&key).into_owned(), value))
                .collect();
        }
    }
}

/// Whether the string of this key in an object is a secret.
fn marks_a_secret(key: &str) -> bool {
    by_rules(&format!("\"{key}\": \"xxxxxxxx\"")).is_some()
}

/// The words of a text, and their parts that messages may show: a program is named without its folder, `a=` is an assignment
/// to `a`, and quotes are not shown.
fn words_and_parts(text: &str) -> BTreeSet<&str> {
    let words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let parts =
        words.clone().flat_map(|word| word.split(|c: char| !c.is_alphanumeric() && !"+_-.".contains(c)));
    let parts = parts.map(|part| part.trim_matches('+')).filter(|part| part.len() >= SHORTEST_PART);
    words.chain(parts).filter(|word| !word.is_empty()).collect()
}

/// The text without what matches a rule; `None` if nothing does.
fn by_rules(text: &str) -> Option<String> {
    let selected = rules_for(text);
    if selected.is_empty() {
        return None;
    }
    let mut redacted: Option<String> = None;
    for (at, rule) in selected.into_iter().filter(|(_, rule)| rule.whole) {
        redacted = applied(at, rule, redacted.as_deref().unwrap_or(text)).or(redacted);
    }
    let mut changed = redacted.is_some();
    let mut lines = String::with_capacity(text.len());
    for line in logical_lines(redacted.as_deref().unwrap_or(text)) {
        let mut current = Cow::Borrowed(line);
        for (at, rule) in rules_for(line).into_iter().filter(|(_, rule)| !rule.whole) {
            if let Some(text) = applied(at, rule, &current) {
                current = Cow::Owned(text);
                changed = true;
            }
        }
        lines += &current;
    }
    changed.then_some(lines)
}

/// The lines of a text with their ends. A line that a backslash continues is one with the next.
fn logical_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut ends = rest.match_indices('\n').map(|(at, _)| at);
        let end = ends.find(|at| !rest.get(..*at).is_some_and(|line| line.ends_with('\\')));
        let (line, after) = rest.split_at_checked(end.map_or(rest.len(), |at| at + 1))?;
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

/// The rules that may match a text, with their numbers, in order.
fn rules_for(text: &str) -> Vec<(usize, &'static Rule)> {
    let mut found: Vec<usize> = Vec::new();
    // Where the last text is that a rule needs: looked for once, so that the time stays linear.
    let mut needed: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    let (mut run, mut longest) = (0_usize, 0_usize);
    let bytes = text.as_bytes();
    let lower = |at: usize| bytes.get(at).map_or(0, u8::to_ascii_lowercase);
    let mut next = [0, lower(0), lower(1)];
    for (at, byte) in bytes.iter().enumerate() {
        let is_of_run = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-');
        run = if is_of_run { run + 1 } else { 0 };
        longest = longest.max(run);
        let [_, first, second] = next;
        next = [first, second, lower(at + 2)];
        if begins_selector(next) {
            let rest = bytes.get(at..).unwrap_or_default();
            for (selector, rule) in
                selectors_from([first, second]).filter(|(selector, _)| begins_with(rest, selector))
            {
                let Some(known) = RULES.get(*rule).filter(|_| !found.contains(rule)) else { continue };
                let mut has_needed = || {
                    let last = needed.entry(*rule).or_insert_with(|| last_needed(known, text));
                    known.needs.is_empty() || last.is_some_and(|last| last >= at)
                };
                if known.command.is_empty() || is_word(text, at, selector.len()) && has_needed() {
                    found.push(*rule);
                }
            }
        }
    }
    let by_run = RULES.iter().enumerate().filter(|(_, rule)| rule.run > 0 && rule.run <= longest);
    found.extend(by_run.map(|(at, _)| at));
    found.sort_unstable();
    let rules = found.into_iter().filter_map(|at| Some((at, RULES.get(at)?)));
    rules.filter(|(_, rule)| text.contains(rule.beside)).collect()
}

/// Whether a selector stands alone: the name of a program is a whole word.
fn is_word(text: &str, at: usize, length: usize) -> bool {
    let (before, after) = text.as_bytes().split_at(at);
    !before.last().is_some_and(u8::is_ascii_alphanumeric)
        && after.get(length).is_some_and(u8::is_ascii_whitespace)
}

/// Where the last of the texts is that a rule needs beside the name of its program.
fn last_needed(rule: &Rule, text: &str) -> Option<usize> {
    let last = |needed: &&str| {
        let mut parts = text.as_bytes().windows(needed.len());
        parts.rposition(|part| part.eq_ignore_ascii_case(needed.as_bytes()))
    };
    rule.needs.iter().filter_map(last).max()
}

/// Whether a selector may begin with these three bytes.
fn begins_selector(three: [u8; 3]) -> bool {
    let (word, bit) = place(three);
    BEGINS.get(word).is_some_and(|bits| bits >> bit & 1 == 1)
}

/// The selectors that begin with these two bytes.
fn selectors_from(pair: [u8; 2]) -> impl Iterator<Item = &'static (&'static str, usize)> {
    let from = SELECTORS.partition_point(|(selector, _)| selector.as_bytes() < pair.as_slice());
    let selectors = SELECTORS.get(from..).unwrap_or_default();
    selectors.iter().take_while(move |(selector, _)| selector.as_bytes().starts_with(&pair))
}

/// Whether a text begins with a selector, in any case.
fn begins_with(text: &[u8], selector: &str) -> bool {
    text.get(..selector.len()).is_some_and(|here| here.eq_ignore_ascii_case(selector.as_bytes()))
}

/// The text without what matches the rule; `None` if nothing does.
fn applied(at: usize, rule: &Rule, text: &str) -> Option<String> {
    let compile = || {
        let command = if rule.command.is_empty() { None } else { Some(Regex::new(rule.command).ok()?) };
        Some(Expressions { command, secret: Regex::new(rule.pattern).ok()? })
    };
    let Expressions { command, secret } = EXPRESSIONS.get(at)?.get_or_init(compile).as_ref()?;
    let Some(command) = command else { return replaced(secret, rule, text) };
    let (mut redacted, mut done, mut changed) = (String::new(), 0, false);
    for found in command.find_iter(text) {
        redacted += text.get(done..found.start())?;
        let replaced = replaced(secret, rule, found.as_str());
        changed |= replaced.is_some();
        redacted += replaced.as_deref().unwrap_or(found.as_str());
        done = found.end();
    }
    redacted += text.get(done..)?;
    changed.then_some(redacted)
}

fn replaced(secret: &Regex, rule: &Rule, text: &str) -> Option<String> {
    let (mut redacted, mut done) = (String::new(), 0);
    for found in secret.captures_iter(text) {
        let groups = (usize::from(found.len() > 1)..found.len()).filter_map(|group| found.get(group));
        for secret in groups.filter(|group| is_secret(group.as_str(), rule.mixed)) {
            redacted += text.get(done..secret.start())?;
            redacted += GONE;
            done = secret.end();
        }
    }
    redacted += text.get(done..)?;
    (done > 0).then_some(redacted)
}

/// Whether what a pattern captured is a secret: not empty, not redacted already, and no reference to a variable.
fn is_secret(text: &str, mixed: bool) -> bool {
    let has = |is: fn(&u8) -> bool| text.as_bytes().iter().any(is);
    !text.is_empty()
        && text != GONE
        && !is_reference(text)
        && (!mixed || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit))
}

/// Whether a text is only a reference to a variable in capital letters, such as `$TOKEN`, `"${TOKEN}"` and
/// `Bearer $TOKEN`.
fn is_reference(text: &str) -> bool {
    let text = text.trim_matches(['"', '\'']);
    let word =
        text.rsplit_once(' ').filter(|(scheme, _)| scheme.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let word = word.map_or(text, |(_, word)| word);
    let Some(name) = word.strip_prefix('$') else { return false };
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use entry::Forms;
    use serde_json::json;

    fn forms() -> Forms {
        serde_saphyr::from_str(include_str!("rules.yaml")).unwrap()
    }

    fn redacted(text: &str) -> String {
        Redactor::default().text(text).into_owned()
    }

    /// The text of an example and what is left of it.
    fn example(written: &str) -> (String, String) {
        let written = written.replace('·', "");
        let mut expected = String::new();
        for (at, part) in written.split(['«', '»']).enumerate() {
            expected += if at % 2 == 0 { part } else { GONE };
        }
        (written.replace(['«', '»'], ""), expected)
    }

    #[test]
    fn each_rule_redacts_exactly_the_secrets_of_its_examples_also_in_every_cut() {
        let (mut wrong, written) = (Vec::new(), forms().rules);
        for (at, rule) in RULES.iter().enumerate() {
            let mut check = |is_right: bool, text: &str, what: &str| {
                if !is_right {
                    wrong.push(format!("{}: {text}\n  {what}", rule.name));
                }
            };
            for pattern in [rule.pattern, rule.command] {
                check(Regex::new(pattern).is_ok(), pattern, "is not valid");
            }
            let examples = &written[rule.name].matches;
            check(!examples.is_empty(), "no example", "");
            for (text, expected) in examples.iter().map(|written| example(written)) {
                let found = redacted(&text);
                check(found == expected, &text, &format!("is  {found}\n  not {expected}"));
                check(redacted(&found) == found, &text, "its output is changed again");
                check(applied(at, rule, &text).is_some(), &text, "is not redacted by this rule alone");
                let is_selected = rules_for(&text).iter().any(|(number, _)| *number == at);
                check(is_selected, &text, "does not select this rule");
                for chars in 0..=text.chars().count() {
                    let shown = shortened(&text, chars);
                    let is_start = plain_text::plain(&expected).starts_with(shown.trim_end_matches('…'));
                    check(is_start, &text, &format!("is cut to {shown}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn keeps_ordinary_text() {
        let Forms { rules, unchanged, .. } = forms();
        for text in rules.into_values().flat_map(|entry| entry.differs).chain(unchanged) {
            assert_eq!(redacted(&text), text);
        }
    }

    #[test]
    fn the_values_of_secret_variables_are_redacted_as_written_and_encoded() {
        for (variable, gone) in forms().variables.examples {
            let (name, value) = variable.split_once('=').unwrap();
            let values = Redactor::of_variables([(name.to_owned(), value.to_owned())]).values;
            assert_eq!(values.is_empty(), gone.is_empty(), "{variable}: {values:?}");
            for text in gone {
                assert!(values.contains(&text), "{variable}: {text}: {values:?}");
            }
        }
    }

    #[test]
    fn redacts_texts_and_keys_of_json_and_the_values_of_secret_keys() {
        let redactor = Redactor::of_variables([("API_KEY".to_owned(), "k\"0123456".to_owned())]);
        let mut value = json!({"a": ["x k\"0123456 y", "k%220123456"], "k\"0123456": "short nano-editor",
            "password": "x", "access_token": "y", "input_tokens": 7, "tool_use_id": "t"});
        redactor.json(&mut value);
        let expected = json!({"a": ["x [redacted] y", GONE], GONE: "short nano-editor",
            "password": GONE, "access_token": GONE, "input_tokens": 7, "tool_use_id": "t"});
        assert_eq!(value, expected);
    }

    #[test]
    fn redacts_the_words_that_a_command_loses_where_a_part_of_it_is_named() {
        let key = "echo x\n-----BEGIN RSA PRIVATE KEY-----\nMIIEabcd/folder+Efgh=\nwxyz==\n-----END RSA PRIVATE KEY-----\n";
        let piped = "echo 'hunter2' | docker login -u bob --password-stdin x";
        for (command, part, shown) in [
            (piped, "echo hunter2", "echo [redacted]"),
            (piped, "docker login -u bob", "docker login -u bob"),
            (key, "line `MIIEabcd/folder+Efgh=`", "line `[redacted]`"),
            (key, "the program folder+Efgh", "the program [redacted]"),
            (key, "assigns wxyz", "assigns [redacted]"),
            (key, "echo x", "echo x"),
        ] {
            let _lost = CallerSecrets::lost_by(Some(command));
            assert_eq!(text(part), shown);
        }
        assert_eq!(text("assigns wxyz"), "assigns wxyz");
    }
}
