//! A value with its position in the file.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

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

/// The name under which a reader provides the line, the column, the length and the value, in this order.
pub const SPANNED: &str = "Spanned";

impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpannedVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
            type Value = Spanned<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value with its position")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let [mut line, mut column, mut length] = [0; 3];
                for number in [&mut line, &mut column, &mut length] {
                    *number = parts.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                }
                let value = parts.next_element()?.ok_or_else(|| A::Error::invalid_length(3, &self))?;
                Ok(Spanned { value, referenced: Location { line, column, length } })
            }
        }

        deserializer.deserialize_newtype_struct(SPANNED, SpannedVisitor(PhantomData))
    }
}
