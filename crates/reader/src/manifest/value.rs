//! The values of YAML and JSON files, as far as a manifest needs them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A map.
    Map(Map),
    /// A number, a truth value, or nothing; whether it is neither zero nor false.
    Plain(bool),
}

/// A map, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Map(Vec<(String, Value)>);

impl Value {
    /// The text of this value, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The values of this list, if it is one.
    pub fn as_list(&self) -> Option<&[Self]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    /// This text, or the texts of this list.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let list = self.as_list().unwrap_or_default();
        self.as_str().into_iter().chain(list.iter().filter_map(Self::as_str))
    }

    /// The entries of this map, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.get(key)
    }

    /// The entries of the map under a key; none without one.
    pub fn entries(&self, key: &str) -> impl Iterator<Item = (&str, &Self)> {
        self.get(key).and_then(Self::as_map).into_iter().flat_map(Map::iter)
    }

    /// Whether a key, or a segment of the path of a JSON patch, contains a text.
    pub fn mentions(&self, text: &str) -> bool {
        match self {
            Self::List(items) => items.iter().any(|item| item.mentions(text)),
            Self::Map(map) => {
                map.path().is_some_and(|path| path.contains(text))
                    || map.iter().any(|(key, value)| key.contains(text) || value.mentions(text))
            }
            Self::Text(_) | Self::Plain(_) => false,
        }
    }

    /// The text of this value, unless it is empty or contains an expression of ansible or compose.
    pub fn literal(&self) -> Option<&str> {
        self.as_str().filter(|text| !text.is_empty() && !text.contains("{{") && !text.contains('$'))
    }
}

impl Map {
    /// The value of a key. The last of several counts.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.iter().rfind(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// The path of an operation of a JSON patch: `{"op": "add", "path": "/spec/hostPID", "value": true}`.
    pub fn path(&self) -> Option<&str> {
        self.get("path").and_then(Value::as_str).filter(|_| self.get("op").is_some())
    }

    /// Adds an entry.
    pub fn insert(&mut self, key: String, value: Value) {
        self.0.push((key, value));
    }

    /// The map under a key, a new one if there is nothing; `None` if there is something else.
    pub fn inner(&mut self, key: &str) -> Option<&mut Self> {
        let at = self.0.iter().rposition(|(known, _)| *known == key).unwrap_or(self.0.len());
        if at == self.0.len() {
            self.insert(key.to_owned(), Value::Map(Self::default()));
        }
        match self.0.get_mut(at) {
            Some((_, Value::Map(inner))) => Some(inner),
            _ => None,
        }
    }

    /// The entries.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Map(map) => Ok(map),
            _ => Err(serde::de::Error::custom("not a map")),
        }
    }
}

/// Reads values that are neither texts nor collections.
macro_rules! plain {
    ($($visit:ident $(($value:ident: $type:ty))? => $is_set:expr,)+) => {
        $(fn $visit<E>(self $(, $value: $type)?) -> Result<Value, E> {
            Ok(Value::Plain($is_set))
        })+
    };
}

/// Accepts values of any type.
struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    plain! {
        visit_bool (flag: bool) => flag,
        visit_i64 (number: i64) => number != 0,
        visit_u64 (number: u64) => number != 0,
        visit_i128 (number: i128) => number != 0,
        visit_u128 (number: u128) => number != 0,
        visit_f64 (number: f64) => number.abs() > 0.0,
        visit_bytes (bytes: &[u8]) => !bytes.is_empty(),
        visit_unit => false,
        visit_none => false,
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<Value>()? {
            match key {
                Value::Text(key) => map.push((key, entries.next_value()?)),
                _ => drop(entries.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Value::Map(Map(map)))
    }
}
