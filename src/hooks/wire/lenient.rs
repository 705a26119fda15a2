//! Fields of any type: the client adds and changes fields with every release, so a value of an unexpected type counts
//! as missing and never makes the whole input unreadable.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What a field of any type is read as. Each method reads the values of one type; by default they count as missing.
pub trait Lenient: Default {
    /// From a string.
    fn from_text(_: &str) -> Self {
        Self::default()
    }

    /// From a boolean.
    fn from_flag(_: bool) -> Self {
        Self::default()
    }

    /// From a list.
    fn from_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    /// From an object.
    fn from_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// A field that accepts any JSON value.
#[derive(Debug, Clone, Default)]
pub struct Any<T>(pub T);

/// A string.
pub type Text = Any<Option<String>>;

/// A boolean; missing counts as false.
pub type Flag = Any<bool>;

impl Lenient for Option<String> {
    fn from_text(text: &str) -> Self {
        Some(text.to_owned())
    }
}

/// The strings of a list.
impl Lenient for Vec<String> {
    fn from_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut texts = Self::new();
        while let Some(text) = list.next_element::<Text>()? {
            texts.extend(text.0);
        }
        Ok(texts)
    }
}

impl Lenient for bool {
    fn from_flag(flag: bool) -> Self {
        flag
    }
}

impl<'de, T: Lenient> Deserialize<'de> for Any<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue(PhantomData)).map(Self)
    }
}

struct AnyValue<T>(PhantomData<T>);

impl<'de, T: Lenient> Visitor<'de> for AnyValue<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(text))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::from_flag(flag))
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::from_list(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_object(map)
    }
}
