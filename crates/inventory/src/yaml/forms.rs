//! The forms of a value that serde does not provide: a map that keeps its order, and values with a short form.

use crate::spanned::Spanned;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::model::rights::spend::Usd;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess};

/// A map with names as keys, in the order of the file and with the position of each name.
#[derive(Debug)]
pub struct Entries<T>(pub Vec<(Spanned<String>, T)>);

/// Text, or a list of texts.
#[derive(Debug, Clone)]
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

/// Lets serde read a form: the method of the deserializer, what another value is not, and the methods of the visitor.
macro_rules! read_form {
    ($by:ident, $expected:literal, $form:ident $(<$inner:ident>)?, $($visit:item)+) => {
        impl<'de $(, $inner: serde::Deserialize<'de>)?> serde::Deserialize<'de> for $form $(<$inner>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct FormVisitor<F>(std::marker::PhantomData<F>);

                impl<'de $(, $inner: serde::Deserialize<'de>)?> serde::de::Visitor<'de>
                    for FormVisitor<$form $(<$inner>)?>
                {
                    type Value = $form $(<$inner>)?;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expected)
                    }

                    $($visit)+
                }

                deserializer.$by(FormVisitor(std::marker::PhantomData))
            }
        }
    };
}

pub(crate) use read_form;

read_form! {
    deserialize_map, "a map of names", Entries<T>,
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let next = || map.next_entry().transpose();
        std::iter::from_fn(next).collect::<Result<_, _>>().map(Entries)
    }
}

read_form! {
    deserialize_any, "text or a list of texts", OneOrMore,
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(OneOrMore(vec![text.to_owned()]))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMore)
    }
}

read_form! {
    deserialize_any, "text or a map", TextOrMap<M>,
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(TextOrMap::Text(text.to_owned()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        M::deserialize(MapAccessDeserializer::new(map)).map(TextOrMap::Map)
    }
}

read_form! {
    deserialize_any, "a number or a map", NumberOrMap<M>,
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

read_form! {
    deserialize_any, "a map or a list of maps", Maps<M>,
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        M::deserialize(MapAccessDeserializer::new(map)).map(|one| Maps(vec![one]))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Maps)
    }
}

/// A tier, or `none`.
#[derive(Debug, Clone, Copy)]
pub struct TierOrNone(pub Option<Tier>);

impl<'de> Deserialize<'de> for TierOrNone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let tier = text.parse().ok().and_then(Tier::from_number);
        if tier.is_some() || text == "none" {
            return Ok(Self(tier));
        }
        Err(Error::custom("is not a tier; write `1`, `2`, `3` or `none`"))
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
