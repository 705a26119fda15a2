//! Mistakes in `hosts.yaml`: what is wrong, where, and how to fix it.

use std::fmt;
use std::path::PathBuf;

use super::spanned::{Location, Spanned};
use opsctl_policy::targets::nearest::nearest;

/// The mistakes in a file. As text, they are one line: the first one, and the number of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostsError {
    /// The file.
    pub file: PathBuf,
    /// Its text; empty if it cannot be read.
    pub text: String,
    /// At least one mistake, by position.
    pub mistakes: Vec<Mistake>,
}

impl HostsError {
    /// A mistake on one line, with the file.
    pub fn line(&self, mistake: &Mistake) -> String {
        let mut line = format!("{} in {}", mistake.what, self.file.display());
        if let Some(Location { line: number, column, .. }) = mistake.location {
            line += &format!(", line {number}, column {column}");
        }
        if !mistake.remedy.is_empty() {
            line += &format!("; {}", mistake.remedy);
        }
        line
    }
}

impl fmt::Display for HostsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, others)) = self.mistakes.split_first() else { return Ok(()) };
        f.write_str(&self.line(first))?;
        match others.len() {
            0 => Ok(()),
            1 => f.write_str("; `opsctl render` also shows 1 other mistake"),
            count => write!(f, "; `opsctl render` also shows {count} other mistakes"),
        }
    }
}

impl std::error::Error for HostsError {}

/// A mistake in a text whose file is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The position of the mistake; `None` when it concerns the whole text.
    pub location: Option<Location>,
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
        Self { location: Some(location), what: what.into(), remedy: remedy.into() }
    }

    /// A mistake in a value that is not valid: `what` follows the value, in backquotes.
    pub fn unless(is_valid: bool, value: &Spanned<String>, what: &str, remedy: &str) -> Checked<()> {
        if is_valid { Ok(()) } else { Err(Self::of(value, what, remedy)) }
    }

    /// A mistake in a value: `what` follows the value, in backquotes.
    pub fn of(value: &Spanned<String>, what: impl fmt::Display, remedy: impl Into<String>) -> Self {
        Self::at(value.referenced, format!("`{}` {what}", value.value), remedy)
    }
}

/// The maximum number of mistakes that are listed.
pub const MOST: usize = 50;

/// The mistakes that have been found so far.
#[derive(Debug, Default)]
pub struct Mistakes {
    mistakes: Vec<Mistake>,
    ignored: Vec<Location>,
}

impl Mistakes {
    /// Adds a mistake.
    pub fn add(&mut self, mistake: Mistake) {
        let is_ignored = mistake.location.is_some_and(|location| self.ignored.contains(&location));
        if !is_ignored && !self.is_full() && !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    /// Ignores all further mistakes at these positions.
    pub fn ignore(&mut self, positions: Vec<Location>) {
        self.ignored.extend(positions);
    }

    /// The value; `None` if there is a mistake in it, which is added.
    pub fn keep<T>(&mut self, checked: Checked<T>) -> Option<T> {
        checked.map_err(|mistake| self.add(mistake)).ok()
    }

    /// The values without a mistake; the mistakes of all others are added.
    pub fn keep_all<T>(&mut self, checked: impl IntoIterator<Item = Checked<T>>) -> Vec<T> {
        checked.into_iter().filter_map(|checked| self.keep(checked)).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.mistakes.is_empty()
    }

    /// Whether no more are added.
    pub fn is_full(&self) -> bool {
        self.mistakes.len() >= MOST
    }

    /// The mistakes, by position.
    pub fn into_sorted(mut self) -> Vec<Mistake> {
        self.mistakes
            .sort_by_key(|mistake| mistake.location.map(|location| (location.line, location.column)));
        self.mistakes
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
