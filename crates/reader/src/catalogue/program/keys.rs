//! The keys of a description: each is a field with its documentation, and read from YAML and JSON.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::list::{Absent, Map, Options, Part, Scripts, Texts};

/// A value of a key.
pub trait Read: Sized + 'static {
    /// Reads the value and keeps its texts for the life of the process.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// A value as serde reads it.
pub struct Value<T>(pub T);

impl<'de, T: Read> Deserialize<'de> for Value<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Self)
    }
}

/// A part of a description, whose keys may stand beside those of other parts.
pub trait Keys: Absent + Sized + 'static {
    /// The names of the keys.
    const KEYS: &'static [&'static str];

    /// Reads the value of a key, if it is one of the part.
    fn set<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error>;

    /// Writes these keys, and each that is not at its default.
    fn write<M: SerializeMap>(&self, keys: &[&str], map: &mut M) -> Result<(), M::Error>;
}

/// Defines parts of a description. Each field is a key of its name, or of the name in `key`; without the key, it has the
/// value in `default`, or is absent. Fields behind `beside` are not keys.
macro_rules! keys {
    ($(
        $(#[doc = $about:literal])+
        $(#[allow($($lint:tt)+)])?
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[key = $key:literal])?
                $(#[default($default:expr)])?
                pub $field:ident: $type:ty,
            )+
        }
        $(beside { $($(#[doc = $beside_doc:literal])+ pub $beside:ident: $beside_type:ty,)+ })?
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $(#[allow($($lint)+)])?
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)+
            $($($(#[doc = $beside_doc])+ pub $beside: $beside_type,)+)?
        }

        impl $name {
            /// The value without a key.
            pub const PLAIN: Self = Self {
                $($field: $crate::catalogue::program::keys::default!($type $(, $default)?),)+
                $($($beside: <$beside_type as $crate::catalogue::program::list::Absent>::ABSENT,)+)?
            };
        }

        impl $crate::catalogue::program::list::Absent for $name {
            const ABSENT: Self = Self::PLAIN;
        }

        impl $crate::catalogue::program::keys::Keys for $name {
            const KEYS: &'static [&'static str] = &[$($crate::catalogue::program::keys::name!($field $($key)?)),+];
            fn set<'de, A: serde::de::MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
                match key {
                    $($crate::catalogue::program::keys::name!($field $($key)?) => {
                        self.$field = map.next_value::<$crate::catalogue::program::keys::Value<$type>>()?.0;
                    })+
                    _ => return Ok(false),
                }
                Ok(true)
            }

            fn write<M: serde::ser::SerializeMap>(&self, keys: &[&str], map: &mut M) -> Result<(), M::Error> {
                $(
                    let key = $crate::catalogue::program::keys::name!($field $($key)?);
                    if keys.contains(&key) || self.$field != Self::PLAIN.$field {
                        map.serialize_entry(key, &self.$field)?;
                    }
                )+
                Ok(())
            }
        }

        impl $crate::catalogue::program::constant::Constant for $name {
            fn type_name() -> String {
                stringify!($name).to_owned()
            }

            fn expression(&self, statics: &mut $crate::catalogue::program::constant::Statics) -> String {
                let fields = [
                    $(format!(concat!(stringify!($field), ": {}"), $crate::catalogue::program::constant::Constant::expression(&self.$field, statics)),)+
                    $($(format!(concat!(stringify!($beside), ": {}"), $crate::catalogue::program::constant::Constant::expression(&self.$beside, statics)),)+)?
                ];
                format!(concat!(stringify!($name), " {{ {} }}"), fields.join(", "))
            }
        }
    )+};
}

/// The name of a key.
macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

/// The value of a key that is absent.
macro_rules! default {
    ($type:ty) => {
        <$type as $crate::catalogue::program::list::Absent>::ABSENT
    };
    ($type:ty, $default:expr) => {
        $default
    };
}

pub(in crate::catalogue) use {default, keys, name};

/// Types that serde reads as they are.
macro_rules! plain {
    ($($type:ty)+) => {$(
        impl $crate::catalogue::program::keys::Read for $type {
            fn read<'de, D: serde::de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                serde::de::Deserialize::deserialize(deserializer)
            }
        }
    )+};
}

/// Enums without fields, which serde reads as they are.
macro_rules! choices {
    ($($choice:ident)+) => {
        $crate::catalogue::program::keys::plain! { $($choice)+ }
        $crate::catalogue::program::constant::plain! { $($choice, concat!(stringify!($choice), "::");)+ }
    };
}
pub(super) use {choices, plain};

plain! { bool usize }

impl Read for &'static str {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| &*text.leak())
    }
}

impl<T: Read> Read for Option<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Value<T>>::deserialize(deserializer)?.map(|value| value.0))
    }
}

/// A text, or a list of texts: nested lists are flattened, so that lists can be shared.
#[derive(serde::Deserialize)]
#[serde(untagged, expecting = "text")]
enum Item {
    One(String),
    Several(Vec<String>),
}

/// Lists of texts of which each must be valid.
macro_rules! texts {
    ($($list:ty: $is_valid:expr, $expected:literal;)+) => {$(
        impl Read for $list {
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Valid(Vec<&'static str>);

                impl<'de> Deserialize<'de> for Valid {
                    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                        let texts = match Item::deserialize(deserializer)? {
                            Item::One(text) => vec![text],
                            Item::Several(texts) => texts,
                        };
                        let is_valid: fn(&str) -> bool = $is_valid;
                        match texts.iter().find(|text| !is_valid(text)) {
                            Some(text) => Err(invalid(text, $expected)),
                            None => Ok(Self(texts.into_iter().map(|text| &*text.leak()).collect())),
                        }
                    }
                }

                let texts = Vec::<Valid>::deserialize(deserializer)?.into_iter();
                Ok(Self::keep(texts.flat_map(|texts| texts.0).collect()))
            }
        }
    )+};
}

texts! {
    Texts: |_| true, "text";
    Options: |text| text.starts_with('-') && text.len() > 1, "an option, which begins with `-`";
    Scripts: |text| text.contains('*'), "a pattern with a `*` for the script";
}

impl<K: Read, V: Read> Read for Map<K, V> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<K, V>(PhantomData<(K, V)>);

        impl<'de, K: Read, V: Read> Visitor<'de> for InOrder<K, V> {
            type Value = Map<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Value(key), Value(value))) = map.next_entry()? {
                    entries.push((key, value));
                }
                Ok(Map::keep(entries))
            }
        }

        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

/// A part that is the value of one key.
impl<T: Keys> Read for Part<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Own<T>(PhantomData<T>);

        impl<'de, T: Keys> Visitor<'de> for Own<T> {
            type Value = Part<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut part = T::ABSENT;
                while let Some(key) = map.next_key::<String>()? {
                    if !part.set(&key, &mut map)? {
                        return Err(A::Error::unknown_field(&key, T::KEYS));
                    }
                }
                Ok(Part::keep(part))
            }
        }

        deserializer.deserialize_map(Own(PhantomData))
    }
}

impl<T: Keys> Serialize for Part<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&[], &mut map)?;
        map.end()
    }
}

/// The error of a text that is not what a key expects.
pub fn invalid<E: Error>(text: &str, expected: &str) -> E {
    E::invalid_value(serde::de::Unexpected::Str(text), &expected)
}
