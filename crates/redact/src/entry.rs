//! The form of `rules.yaml`. The build script and the tests of the rules read it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::least_length::least_length;

/// Parts of patterns, by the name in braces.
const PARTS: [(&str, &str); 4] = [
    ("{word}", r#"(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\;|&<>()])+"#),
    ("{value}", r#"(?:\\+"([^"\\]*)|"((?:[^"\\]|\\.)*)|'([^']*)|([^\s'"\\,;&|<>()`\x00]+))"#),
    ("{variable}", r#"(?:\\+"([^"\\]*)|"((?:[^"\\]|\\.)*)|'([^']*)|([^\s'"\x00]+))"#),
    (
        "{entry}",
        r#"(?:\\+"([^"\\]*)|"((?:[^"\\]|\\.)*)|'([^']*)|([^\s'"\\,;&|<>()`\[{\x00][^\s'"\\,;&|<>()`}\]\x00]{3,}))"#,
    ),
];

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forms {
    /// The rules by name.
    pub rules: BTreeMap<String, Entry>,
    /// Texts that no rule changes.
    pub unchanged: Vec<String>,
    /// Values that stand for a secret.
    pub placeholders: Placeholders,
    /// The environment variables whose values are secrets.
    pub variables: Variables,
}

/// Values that stand for a secret, and are none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placeholders {
    /// Words, in any case.
    pub words: Vec<String>,
    /// Beginnings of values.
    pub beginnings: Vec<String>,
    /// Folders in which files of secrets are.
    pub folders: Vec<String>,
    /// Beginnings of places from which code reads a value.
    pub places: Vec<String>,
    /// Names of variables of code.
    pub names: Vec<String>,
}

/// Environment variables whose values are secrets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variables {
    /// Endings of their names, in capital letters.
    pub endings: Vec<String>,
    /// Beginnings of their names, in capital letters.
    pub beginnings: Vec<String>,
    /// Variables, as `NAME=value`, with texts that are redacted for them; without one, none is.
    pub examples: BTreeMap<String, Vec<String>>,
}

/// A rule as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Entry {
    /// The pattern, with the names of [`PARTS`].
    pub pattern: String,
    /// Texts of which one occurs in a line that is searched, beside the programs.
    pub needs: Vec<String>,
    /// The least length of a run of letters, digits and `+/_-` in a line that is searched.
    pub run: usize,
    /// A text that also occurs in a line that is searched.
    pub beside: String,
    /// Characters of which one follows the name that ends with the text in `needs`.
    pub then: String,
    /// Whether a match begins with one of the texts in `needs`.
    pub begins: bool,
    /// The programs to whose words it applies.
    pub programs: Vec<String>,
    /// Whether a secret has capital letters, small letters and digits.
    pub mixed: bool,
    /// Whether the pattern spans lines.
    pub whole: bool,
    /// Texts that it changes, with the secrets in «».
    pub matches: Vec<String>,
    /// Texts that no rule changes.
    pub differs: Vec<String>,
}

impl Entry {
    /// The rule as a Rust expression.
    pub fn expression(&self, name: &str) -> String {
        let Self { run, beside, then, begins, mixed, whole, .. } = self;
        let mut pattern = self.pattern.clone();
        for (part, meaning) in PARTS {
            pattern = pattern.replace(part, meaning);
        }
        if *begins {
            pattern = format!("^(?:{pattern})");
        }
        let token = if self.programs.is_empty() && !whole { least_length(&pattern) } else { 0 };
        let (command, needs) = if self.programs.is_empty() {
            (String::new(), &[][..])
        } else {
            let programs: Vec<String> = self.programs.iter().map(|name| name.replace('.', r"\.")).collect();
            let programs = programs.join("|");
            let command = format!(r#"(?:^|[\s/;&|(`'"])(?:{programs})\s(?:'[^']*'|"[^"]*"|\\\n|[^\n;|&])*"#);
            (command, &self.needs[..])
        };
        format!(
            "Rule {{ name: {name:?}, command: {command:?}, needs: &{needs:?}, pattern: {pattern:?}, run: {run}, \
             beside: {beside:?}, then: {then:?}, begins: {begins}, mixed: {mixed}, whole: {whole}, token: {token} }}"
        )
    }

    /// The texts that select the rule for a line, in small letters: the programs, else the needed texts.
    pub fn selectors(&self) -> impl Iterator<Item = String> + '_ {
        let texts = if self.programs.is_empty() { &self.needs } else { &self.programs };
        texts.iter().map(|text| text.to_lowercase())
    }

    /// The three bytes with which a text begins that selects this rule, and the two after them, unless it is shorter. After a text
    /// of two bytes, a program is followed by a blank, any other text by any byte, or by none (0).
    pub fn beginnings(&self) -> impl Iterator<Item = ([u8; 3], Option<[u8; 2]>)> + '_ {
        let is_blank = |byte: &u8| self.programs.is_empty() || byte.is_ascii_whitespace();
        self.selectors().flat_map(move |text| match *text.as_bytes() {
            [first, second, third, fourth, fifth, ..] => {
                vec![([first, second, third], Some([fourth, fifth]))]
            }
            [first, second, third, ..] => vec![([first, second, third], None)],
            [first, second] => {
                (0..=u8::MAX).filter(is_blank).map(|third| ([first, second, third], None)).collect()
            }
            _ => vec![],
        })
    }
}
