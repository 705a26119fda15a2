//! What a description states of changes: each has a class.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::constant::{Constant, Statics};
use super::keys::{Read, Value};
use super::list::{Absent, Map, Options};
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

/// Options with which a form changes something, by the class of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classes(pub Map<Class, Options>);

impl Classes {
    /// All of these options.
    pub(super) fn options(self) -> Options {
        Options::keep(self.0.iter().flat_map(|(_, options)| options.iter().copied()).collect())
    }
}

impl Absent for Classes {
    const ABSENT: Self = Self(Map::ABSENT);
}

impl Read for Classes {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByClass;

        impl<'de> Visitor<'de> for ByClass {
            type Value = Classes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("options by the class of the change, such as `{plain: [--repair]}`")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Classes, A::Error> {
                let Value(map) = Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Classes(map))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Classes, A::Error> {
                Err(A::Error::invalid_type(serde::de::Unexpected::Seq, &self))
            }
        }

        deserializer.deserialize_any(ByClass)
    }
}

impl Serialize for Classes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Constant for Classes {
    fn type_name() -> String {
        "Classes".to_owned()
    }

    fn expression(&self, statics: &mut Statics) -> String {
        format!("Classes({})", self.0.expression(statics))
    }
}
