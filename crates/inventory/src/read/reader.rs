//! A [`Subject`] as serde reads it. Parts that are left out do not exist for the visitor.

use std::collections::HashSet;

use serde::de::value::U64Deserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::fault::{Fault, Problem};
use super::subject::{Name, Subject};
use super::tree::{Form, Node};
use super::usual;
use crate::spanned::SPANNED;

macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ident)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            let number = match &self.node.form {
                Form::Scalar(_, Value::Number(number)) => {
                    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
                }
                Form::Scalar(text, _) => text.parse().ok(),
                Form::List(_) | Form::Map(_) => None,
            };
            match number.and_then(|number| $type::try_from(number).ok()) {
                Some(number) => visitor.$visit(number),
                None => Err(Problem::Number { most: $type::MAX.to_string() }.into()),
            }
        }
    )+};
}

impl<'de> Deserializer<'de> for Subject<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.form {
            Form::Scalar(text, value) => match value {
                Value::Null => visitor.visit_unit(),
                Value::Bool(value) => visitor.visit_bool(*value),
                Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                    (Some(number), ..) => visitor.visit_u64(number),
                    (None, Some(number), _) => visitor.visit_i64(number),
                    (None, None, number) => visitor.visit_f64(number.unwrap_or_default()),
                },
                _ => visitor.visit_str(text),
            },
            Form::List(items) => self.list(items, visitor),
            Form::Map(entries) => self.map(entries, visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.form {
            Form::Scalar(_, Value::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.form {
            Form::Scalar(text, Value::Bool(_)) if usual::is_name(self.name) => {
                Err(Problem::Boolean(usual::name_like_bool(text, self.name)).into())
            }
            Form::Scalar(text, value) if !value.is_null() => visitor.visit_str(text),
            _ => Err(Problem::form("text").into()),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.text().map(str::to_ascii_lowercase).as_deref() {
            Some("true" | "yes" | "y" | "on") => visitor.visit_bool(true),
            Some("false" | "no" | "n" | "off") => visitor.visit_bool(false),
            _ => Err(Problem::Value("write `true` or `false`".to_owned()).into()),
        }
    }

    whole_numbers! {
        deserialize_u8 visit_u8 u8
        deserialize_u16 visit_u16 u16
        deserialize_u32 visit_u32 u32
        deserialize_u64 visit_u64 u64
        deserialize_i64 visit_i64 i64
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.node.text() {
            Some(text) if variants.contains(&text) => visitor.visit_enum(text.into_deserializer()),
            _ => Err(Problem::Choice(variants).into()),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.form {
            Form::List(items) => self.list(items, visitor),
            Form::Scalar(_, Value::Null) => self.list(&[], visitor),
            _ => Err(Problem::form("a list").into()),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.form {
            Form::Map(entries) => self.map(entries, visitor),
            Form::Scalar(_, Value::Null) => self.map(&[], visitor),
            _ => Err(Problem::form("a map").into()),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.node.form {
            Form::Scalar(_, Value::Null) | Form::Map(_) => self.deserialize_map(visitor),
            Form::Scalar(..) | Form::List(_) => Err(Problem::Map(fields).into()),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name == SPANNED {
            visitor.visit_seq(Parts { subject: self, next: 0 })
        } else {
            self.deserialize_any(visitor)
        }
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple ignored_any
    }
}

impl<'de> Subject<'de> {
    fn list<V: Visitor<'de>>(self, items: &'de [Node], visitor: V) -> Result<V::Value, Fault> {
        let key = match self.name {
            Name::Key(key) => Some(key),
            Name::Entry(key) => key,
            Name::File => None,
        };
        visitor.visit_seq(Items { list: self, rest: items.iter(), key })
    }

    fn map<V: Visitor<'de>>(self, entries: &'de [(Node, Node)], visitor: V) -> Result<V::Value, Fault> {
        let entries = Entries { map: self, rest: entries.iter(), seen: HashSet::new(), next: None };
        visitor.visit_map(entries).map_err(|fault| fault.in_map(self))
    }
}

/// The line, the column, the length and the value itself.
struct Parts<'a> {
    subject: Subject<'a>,
    next: usize,
}

impl<'de> SeqAccess<'de> for Parts<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let location = self.subject.node.location;
        let number = [location.line, location.column, location.length].get(self.next).copied();
        self.next += 1;
        match number {
            Some(number) => seed.deserialize(U64Deserializer::new(number)),
            None => seed.deserialize(self.subject),
        }
        .map(Some)
    }
}

struct Items<'a> {
    list: Subject<'a>,
    rest: std::slice::Iter<'a, Node>,
    key: Option<&'a Node>,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(node) = self.rest.find(|item| !item.is_left_out()) else { return Ok(None) };
        let subject = Subject { node, name: Name::Entry(self.key) };
        seed.deserialize(subject).map(Some).map_err(|fault| match fault {
            // Words instead of maps are one mistake of the whole list.
            Fault::Raised(Problem::Map(_)) if self.list.node.words().is_some() => {
                Fault::from(Problem::form("a list of maps")).at(self.list)
            }
            fault => fault.at(subject),
        })
    }
}

struct Entries<'a> {
    map: Subject<'a>,
    rest: std::slice::Iter<'a, (Node, Node)>,
    seen: HashSet<&'a str>,
    /// The entry whose value comes next.
    next: Option<Subject<'a>>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((key, value)) = self.rest.find(|(_, value)| !value.is_left_out()) else {
            return Ok(None);
        };
        if !key.text().is_none_or(|text| self.seen.insert(text)) {
            return Err(Fault::from(Problem::Twice).at_key(key, value, self.map.name));
        }
        self.next = Some(Subject { node: value, name: Name::Key(key) });
        let subject = Subject { node: key, name: Name::Key(key) };
        seed.deserialize(subject).map(Some).map_err(|fault| fault.at_key(key, value, self.map.name))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let subject = self.next.take().unwrap_or(self.map);
        seed.deserialize(subject).map_err(|fault| fault.at(subject))
    }
}
