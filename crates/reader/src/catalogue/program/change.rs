//! What a description states of changes: each has a class.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use super::constant::{Constant, Statics};
use super::keys::Read;
use crate::terms::class::Class;

/// The stated effect of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stated {
    /// It changes nothing.
    Reads,
    /// It changes only the files that it writes.
    Writes,
    /// It changes something.
    Changes(Class),
    /// The effect is unknown.
    Unknown,
}

impl Stated {
    /// The word for it: the class of a change.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Changes(class) => class.as_str(),
            Self::Unknown => "unknown",
        }
    }

    /// The effect with this word.
    pub(super) fn named(word: &str) -> Option<Self> {
        let others = [Self::Reads, Self::Writes, Self::Unknown];
        let other = others.into_iter().find(|stated| stated.as_str() == word);
        other.or_else(|| Class::named(word).map(Self::Changes))
    }

    /// The words of all effects, for messages.
    pub(super) fn words() -> String {
        let classes: Vec<String> = Class::ALL.iter().map(|class| format!("`{}`", class.as_str())).collect();
        format!("`reads`, `writes`, `unknown`, or the class of what it changes: {}", classes.join(", "))
    }
}

impl Read for Stated {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Self::named(&word)
            .ok_or_else(|| D::Error::invalid_value(serde::de::Unexpected::Str(&word), &&*Self::words()))
    }
}

impl Serialize for Stated {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Constant for Stated {
    fn type_name() -> String {
        "Stated".to_owned()
    }

    fn expression(&self, _: &mut Statics) -> String {
        match self {
            Self::Changes(class) => format!("Stated::Changes(Class::{class:?})"),
            other => format!("Stated::{other:?}"),
        }
    }
}
