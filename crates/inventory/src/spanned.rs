//! A value with its position in the file.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A part of one line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
    /// The length in characters; 0 for a value that consists of other values.
    pub length: u64,
}

/// A value with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands, or the alias that stands for it.
    pub referenced: Location,
}

/// The name under which a reader provides [`Parts`].
pub const SPANNED: &str = "Spanned";

/// The line, the column, the length and the value.
#[derive(Deserialize)]
#[serde(rename = "Spanned")]
struct Parts<T>(u64, u64, u64, T);

impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Parts(line, column, length, value) = Parts::deserialize(deserializer)?;
        Ok(Self { value, referenced: Location { line, column, length } })
    }
}
