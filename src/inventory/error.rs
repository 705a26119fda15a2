//! What is wrong with `hosts.yaml`, where, and what to do about it: always one line.

use std::fmt;
use std::path::PathBuf;

use serde_saphyr::{Error as YamlError, Location};

use super::nearest::nearest;

/// A place in the file, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

/// A mistake in `hosts.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostsError {
    /// The file.
    pub file: PathBuf,
    /// Where in it; `None` when the file could not be read at all.
    pub place: Option<Place>,
    /// The thing that is wrong.
    pub what: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for HostsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.what, self.file.display())?;
        if let Some(Place { line, column }) = self.place {
            write!(f, ", line {line}, column {column}")?;
        }
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for HostsError {}

/// A mistake without its file, which the loader adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub place: Option<Place>,
    /// The thing that is wrong.
    pub what: String,
    /// What to write instead.
    pub remedy: String,
}

impl Mistake {
    /// A mistake at a place.
    pub fn at(location: Location, what: String, remedy: String) -> Self {
        Self { place: Some(location.into()), what, remedy }
    }

    /// Names the file.
    pub fn in_file(self, file: PathBuf) -> HostsError {
        HostsError { file, place: self.place, what: self.what, remedy: self.remedy }
    }
}

/// "did you mean `address`?", or the list of right words where none is near.
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
        let place = error.location().map(Place::from);
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
                "keep one of the two".to_owned(),
            ),
            YamlError::MultipleDocuments { .. } => {
                ("a second YAML document".to_owned(), "remove the line `---`".to_owned())
            }
            YamlError::InvalidScalar { ty, .. } => (format!("not a number of type {ty}"), whole_number(ty)),
            YamlError::Unexpected { expected, .. } => plain_words(expected),
            other => (first_line_without_place(&other.to_string()), String::new()),
        };
        Self { place, what, remedy }
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

fn plain_words(expected: &str) -> (String, String) {
    match expected {
        "mapping start" => ("a value that is not a map".into(), "write `key: value` pairs here".into()),
        "sequence start" => ("a value that is not a list".into(), "write `[one, two]` here".into()),
        "string scalar" => ("a value that is not text".into(), "write a plain word here".into()),
        other => (format!("expected {other}"), String::new()),
    }
}

/// The parser's own words end in " at line L, column C", which the place already says.
fn first_line_without_place(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.rsplit_once(" at line ").map_or(line, |(head, _)| head).to_owned()
}
