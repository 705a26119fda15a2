//! Mistakes in `hosts.yaml`: what is wrong, where, and how to fix it, on one line.

use std::fmt;
use std::path::PathBuf;

use serde_saphyr::{Error as YamlError, Location, Spanned};

use super::nearest::nearest;

/// A position in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
}

impl From<Location> for Position {
    fn from(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostsError {
    /// The file.
    pub file: PathBuf,
    /// The position of the mistake; `None` when it concerns the whole file.
    pub position: Option<Position>,
    /// What is wrong.
    pub what: String,
    /// How to fix it; may be empty.
    pub remedy: String,
}

impl fmt::Display for HostsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.what, self.file.display())?;
        if let Some(Position { line, column }) = self.position {
            write!(f, ", line {line}, column {column}")?;
        }
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for HostsError {}

/// A mistake in a text whose file is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The position of the mistake; `None` when it concerns the whole text.
    pub position: Option<Position>,
    /// What is wrong.
    pub what: String,
    /// How to fix it; may be empty.
    pub remedy: String,
}

/// A checked value, or the mistake in it.
pub type Checked<T> = Result<T, Mistake>;

impl Mistake {
    /// A mistake at a position.
    pub fn at(location: Location, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { position: Some(location.into()), what: what.into(), remedy: remedy.into() }
    }

    /// A mistake in a value: `what` follows the value, in backquotes.
    pub fn of(value: &Spanned<String>, what: impl fmt::Display, remedy: impl Into<String>) -> Self {
        Self::at(value.referenced, format!("`{}` {what}", value.value), remedy)
    }

    /// The mistake with its file.
    pub fn in_file(self, file: PathBuf) -> HostsError {
        HostsError { file, position: self.position, what: self.what, remedy: self.remedy }
    }
}

/// "did you mean `address`?", or the list of valid words if none is similar.
pub fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(word, candidates.clone()) {
        return format!("did you mean `{near}`?");
    }
    let all: Vec<&str> = candidates.into_iter().collect();
    match all.as_slice() {
        [] => String::new(),
        [one] => format!("expected `{one}`"),
        many => format!("expected one of `{}`", many.join("`, `")),
    }
}

impl From<YamlError> for Mistake {
    fn from(error: YamlError) -> Self {
        let error = error.without_snippet();
        let position = error.location().map(Position::from);
        let (what, remedy) = match error {
            YamlError::SerdeUnknownField { field, expected, .. } => {
                (format!("unknown key `{field}`"), suggestion(field, expected.iter().copied()))
            }
            YamlError::SerdeUnknownVariant { variant, expected, .. } => {
                (format!("unknown value `{variant}`"), suggestion(variant, expected.iter().copied()))
            }
            YamlError::SerdeMissingField { field, .. } => {
                (format!("missing key `{field}`"), format!("add `{field}:`"))
            }
            YamlError::DuplicateMappingKey { key, .. } => (
                format!("duplicate key `{}`", key.as_deref().unwrap_or("?")),
                "remove one of the two".to_owned(),
            ),
            YamlError::MultipleDocuments { .. } => {
                ("a second YAML document".to_owned(), "remove the line `---`".to_owned())
            }
            YamlError::InvalidScalar { ty, .. } => {
                ("a value that is not a valid number".to_owned(), whole_number(ty))
            }
            YamlError::Unexpected { expected, .. } => expected_form(expected),
            other => (first_line_without_place(&other.to_string()), String::new()),
        };
        Self { position, what, remedy }
    }
}

fn whole_number(ty: &str) -> String {
    let largest = match ty {
        "u8" => "255",
        "u16" => "65535",
        _ => "4294967295",
    };
    format!("write a whole number from 0 to {largest}")
}

fn expected_form(expected: &str) -> (String, String) {
    match expected {
        "mapping start" => ("a value that is not a map".into(), "write `key: value` pairs".into()),
        "sequence start" => ("a value that is not a list".into(), "write `[one, two]`".into()),
        "string scalar" => ("a value that is not text".into(), "write one word, or quote the text".into()),
        other => (format!("expected {other}"), String::new()),
    }
}

/// Messages of the parser end in " at line L, column C", which the position repeats.
fn first_line_without_place(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.rsplit_once(" at line ").map_or(line, |(head, _)| head).to_owned()
}
