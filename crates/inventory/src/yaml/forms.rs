//! The forms of a value that serde does not provide: a map that keeps its order, and values with a short form.

use std::fmt;
use std::marker::PhantomData;

use crate::spanned::Spanned;
use opsctl_policy::model::rights::spend::Usd;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};

/// A map with names as keys, in the order of the file and with the position of each name.
#[derive(Debug)]
pub struct Entries<T>(pub Vec<(Spanned<String>, T)>);

/// Text, or a list of texts.
#[derive(Debug)]
pub struct OneOrMore(pub Vec<String>);

/// Text as the short form of a map.
#[derive(Debug)]
pub enum TextOrMap<M> {
    Text(String),
    Map(M),
}

/// An amount in US dollars.
#[derive(Debug, Clone, Copy)]
pub struct Amount(pub Usd);

/// A number as the short form of a map.
#[derive(Debug)]
pub enum NumberOrMap<M> {
    Number(Amount),
    Map(M),
}

/// A map, or a list of maps.
#[derive(Debug)]
pub struct Maps<M>(pub Vec<M>);

/// The entries of a map that may be missing from the file.
pub fn entries<T>(map: Option<Entries<T>>) -> impl Iterator<Item = (Spanned<String>, T)> {
    map.into_iter().flat_map(|entries| entries.0)
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMoreVisitor;

        impl<'de> Visitor<'de> for OneOrMoreVisitor {
            type Value = OneOrMore;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<OneOrMore, E> {
                Ok(OneOrMore(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMore, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(OneOrMore(texts))
            }
        }

        deserializer.deserialize_any(OneOrMoreVisitor)
    }
}

impl<'de, M: Deserialize<'de>> Deserialize<'de> for TextOrMap<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrMapVisitor<M>(PhantomData<M>);

        impl<'de, M: Deserialize<'de>> Visitor<'de> for TextOrMapVisitor<M> {
            type Value = TextOrMap<M>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a map")
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(TextOrMap::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                M::deserialize(MapAccessDeserializer::new(map)).map(TextOrMap::Map)
            }
        }

        deserializer.deserialize_any(TextOrMapVisitor(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Usd::parse(&text).map(Self).ok_or_else(|| {
            let problem =
                "is not an amount in US dollars; write one such as `20` or `0.50`, at most `1000000`";
            Error::custom(problem)
        })
    }
}

impl<'de, M: Deserialize<'de>> Deserialize<'de> for NumberOrMap<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrMapVisitor<M>(PhantomData<M>);

        impl<'de, M: Deserialize<'de>> Visitor<'de> for NumberOrMapVisitor<M> {
            type Value = NumberOrMap<M>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a map")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Amount::deserialize(text.into_deserializer()).map(NumberOrMap::Number)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                M::deserialize(MapAccessDeserializer::new(map)).map(NumberOrMap::Map)
            }
        }

        deserializer.deserialize_any(NumberOrMapVisitor(PhantomData))
    }
}

impl<'de, M: Deserialize<'de>> Deserialize<'de> for Maps<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapsVisitor<M>(PhantomData<M>);

        impl<'de, M: Deserialize<'de>> Visitor<'de> for MapsVisitor<M> {
            type Value = Maps<M>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map or a list of maps")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                M::deserialize(MapAccessDeserializer::new(map)).map(|one| Maps(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Maps)
            }
        }

        deserializer.deserialize_any(MapsVisitor(PhantomData))
    }
}
