//! Redaction: removes secrets from text before it is printed, logged, stored or sent.
//!
//! `rules.yaml` states what secrets look like; `build.rs` turns it into constants. A rule is compiled when a part of a text
//! is first found that may match it.

mod beginning;
mod blocks;
mod placeholder;
mod rule;
mod scan;
mod spans;
pub mod stream;
mod token;
mod variables;

#[cfg(test)]
#[allow(dead_code, reason = "the build script uses the rest")]
mod entry;
#[cfg(test)]
mod least_length;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::sync::{LazyLock, RwLock};

use memchr::memmem;
use serde_json::{Map, Value};

use opsctl_machine::held_variables;
use opsctl_reader::terms::plain_text;
use placeholder::{GONE, is_secret};

#[allow(clippy::unreadable_literal, reason = "the build script writes bare numbers")]
mod built_in;

/// How far [`shortened`] searches for secrets beyond the characters that it keeps, at most.
const AHEAD: usize = 2_000;

/// The length from which the key of a value is looked at before the value, in bytes.
const LONG: usize = 1024;

/// The least length of a part of a lost word that is redacted for itself, in bytes.
const SHORTEST_PART: usize = 4;

/// The redactor with the secret variables of this process.
static OF_PROCESS: LazyLock<Redactor> = LazyLock::new(|| {
    let own = std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value));
    let all = own.chain(held_variables::all().iter().cloned());
    Redactor::of_variables(all.map(|(name, value)| (name, value.to_string_lossy().into_owned())))
});

/// The redactor with the secrets that this process has read from files.
static OF_FILES: RwLock<Redactor> = RwLock::new(Redactor::NONE);

/// Removes a secret that this process has read from a file from all texts, from now on.
pub fn learn(secret: &str) {
    // It is redacted as the value of a variable with this name would be.
    let values = variables::values([("DB_PASSWORD".to_owned(), secret.to_owned())]);
    if let Ok(mut known) = OF_FILES.write()
        && known.values != values
    {
        *known = Redactor::of_values(values);
    }
}

/// The fewest bytes of a secret that has no letters of both cases.
const SHORTEST_OF_ONE_CASE: usize = 20;

thread_local! {
    /// The secrets of the caller that this thread serves, and the words of [`CallerSecrets::lost_by`]. No verdict depends on them.
    static OF_CALLER: RefCell<Redactor> = const { RefCell::new(Redactor::NONE) };
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

/// Removes secrets from all strings in a JSON value, including the values of this process's secret variables. Returns how
/// many it has removed.
pub fn json(value: &mut Value) -> usize {
    let of_files = OF_FILES
        .read()
        .map_or(0, |of_files| if of_files.values.is_empty() { 0 } else { of_files.json(value) });
    let of_process = of_files + OF_PROCESS.json(value);
    of_process + OF_CALLER.with_borrow(|caller| if caller.values.is_empty() { 0 } else { caller.json(value) })
}

/// The name of a service or host without secrets. Variables are not considered: the name identifies a budget, which must
/// not depend on the environment.
pub fn name(name: &str) -> Cow<'_, str> {
    by_rules(name).map_or(Cow::Borrowed(name), Cow::Owned)
}

/// The parts of a text that have the form of a secret, in order: what [`name`] removes.
pub fn formed(text: &str) -> impl Iterator<Item = &str> {
    spans::spans(text).into_iter().filter_map(|span| text.get(span))
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

    /// A redactor for those of these values that have the form of a secret. A caller may state any text as its secret, also words of
    /// its own commands, which records need.
    pub fn of_forms(values: Vec<String>) -> Self {
        let has_form = |value: &String| {
            let has = |is: fn(&char) -> bool| value.chars().any(|c| is(&c));
            let is_one_word = !has(|c| c.is_whitespace() || *c == '/') && has(char::is_ascii_digit);
            let is_mixed = has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
            is_one_word && (is_mixed || value.len() >= SHORTEST_OF_ONE_CASE && !has(|c| "_.:".contains(*c)))
        };
        Self { values: values.into_iter().filter(has_form).collect() }
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
        let mut text = OF_PROCESS.text(text);
        if let Ok(of_files) = OF_FILES.read()
            && !of_files.values.is_empty()
        {
            text = Cow::Owned(of_files.text(&text).into_owned());
        }
        if self.values.is_empty() { text } else { Cow::Owned(self.text(&text).into_owned()) }
    }

    /// The text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut redacted = Cow::Borrowed(text);
        for value in &self.values {
            if memmem::find(redacted.as_bytes(), value.as_bytes()).is_some() {
                redacted = Cow::Owned(redacted.replace(value.as_str(), GONE));
            }
        }
        match by_rules(&redacted) {
            Some(text) => Cow::Owned(text),
            None => redacted,
        }
    }

    /// Removes secrets from all strings in a JSON value, keys included. Strings whose keys mark them as secrets are
    /// redacted as a whole. Returns how many secrets it has removed.
    pub fn json(&self, value: &mut Value) -> usize {
        match value {
            Value::String(text) => {
                let Cow::Owned(redacted) = self.text(text) else { return 0 };
                let removed = count(&redacted).saturating_sub(count(text)).max(1);
                *text = redacted;
                removed
            }
            Value::Array(values) => values.iter_mut().map(|value| self.json(value)).sum(),
            Value::Object(entries) => self.object(entries),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    fn object(&self, entries: &mut Map<String, Value>) -> usize {
        let mut removed = 0;
        for (key, value) in entries.iter_mut() {
            removed += match value {
                Value::String(text) if is_marked(key, text) => {
                    GONE.clone_into(text);
                    1
                }
                value => self.json(value),
            };
        }
        let secret_keys = entries.keys().filter(|key| matches!(self.text(key), Cow::Owned(_))).count();
        if secret_keys > 0 {
            *entries = std::mem::take(entries)
                .into_iter()
                .map(|(key, value)| (self.text(&key).into_owned(), value))
                .collect();
        }
        removed + secret_keys
    }
}

/// How many secrets of a text have been replaced.
fn count(text: &str) -> usize {
    memmem::find_iter(text.as_bytes(), GONE).count()
}

/// Whether a value of an object is a secret because of its key.
fn is_marked(key: &str, value: &str) -> bool {
    // The outputs of commands are long, and their key is not that of a secret.
    let may_be = value.len() <= LONG || marks_a_secret(key);
    may_be && is_secret(value, "", false) && marks_a_secret(key)
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
    let spans = spans::spans(text);
    if spans.is_empty() {
        return None;
    }
    let (mut redacted, mut done) = (String::with_capacity(text.len()), 0);
    for span in spans {
        redacted += text.get(done..span.start).unwrap_or_default();
        redacted += GONE;
        done = span.end;
    }
    redacted += text.get(done..).unwrap_or_default();
    Some(redacted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use built_in::RULES;
    use entry::Forms;
    use regex_lite::Regex;
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
                check(spans::is_redacted_by(at, &text), &text, "is not redacted by this rule alone");
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
    fn redacts_exactly_the_secrets_of_the_outputs_of_programs() {
        let rows: Vec<std::collections::BTreeMap<String, String>> =
            serde_saphyr::from_str(include_str!("outputs.yaml")).unwrap();
        assert!(rows.len() >= 80, "{}", rows.len());
        let mut wrong = Vec::new();
        for (program, written) in rows.into_iter().flatten() {
            let (text, expected) = example(&written);
            let found = redacted(&text);
            let lines = found.lines().zip(expected.lines()).filter(|(found, expected)| found != expected);
            let lines: Vec<String> =
                lines.map(|(found, expected)| format!("  {found}\n  not {expected}")).collect();
            if found != expected {
                wrong.push(format!("{program}:\n{}", lines.join("\n")));
            }
            assert_eq!(redacted(&found), found, "{program}: its output is changed again");
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn the_time_is_linear_in_the_length_of_the_output() {
        for part in [
            "password=hunter2 ",
            "password: x\n",
            "-----BEGIN PRIVATE KEY-----\n",
            "-----END PRIVATE KEY-----\n",
            "kind: Secret\n",
            "\"token\":\"",
            "AKIA0123456789ABCDEF",
            "https://a:",
            "path/to/",
        ] {
            // The shortest of several: the machine may do something else in between.
            let time = |times: usize| {
                let text = part.repeat(times);
                let once = |_| {
                    let began = std::time::Instant::now();
                    let _ = redacted(&text);
                    began.elapsed()
                };
                (0..4).map(once).min().unwrap()
            };
            let (short, long) = (time(1_000), time(20_000));
            assert!(long < short * 150, "{part}: {short:?}, {long:?}");
        }
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
    fn words_of_commands_have_not_the_form_of_a_secret() {
        for (value, is_removed) in [
            ("docker restart jellyfin", false),
            ("/etc/shadow1A", false),
            ("jellyfin", false),
            ("home-assistant-2", false),
            ("media_database_primary_1", false),
            ("Restart", false),
            ("hunter2-hunter2-hunter2", true),
            ("Hunter2", true),
            ("0123456789abcdef0123", true),
        ] {
            let recorded = Redactor::of_forms(vec![value.to_owned()]);
            assert_eq!(recorded.text(value) != value, is_removed, "{value}");
        }
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
