//! The values of a YAML document with their positions.

use std::cell::Cell;

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{MapAccess, SeqAccess};
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Options, Spanned, from_str_with_options};

use crate::error::Mistake;
use crate::spanned::Location;
use crate::yaml::forms::read_form;

/// A value of the document.
#[derive(Debug)]
pub struct Node {
    pub location: Location,
    pub form: Form,
    left_out: Cell<bool>,
}

/// What a value consists of.
#[derive(Debug)]
pub enum Form {
    /// A value without parts: as written, without quotes, and as YAML understands it.
    Scalar(String, Value),
    List(Vec<Node>),
    /// In the order of the file; keys may occur twice.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// Parses a document; only a mistake in its syntax is an error.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let options: Options = serde_saphyr::options! {
            with_snippet: false,
            duplicate_keys: DuplicateKeyPolicy::PassThrough,
            reject_unsupported_tags: true,
        };
        let wire: NodeWire = from_str_with_options(text, options)?;
        Ok(Self::new(wire, text))
    }

    fn new(wire: NodeWire, text: &str) -> Self {
        let length = wire.referenced.span().len();
        let form = match wire.value {
            FormWire::Scalar(value @ Value::String(_)) => {
                Form::Scalar(value.as_str().unwrap_or_default().to_owned(), value)
            }
            FormWire::Scalar(value) => {
                // `1.10` and `no` may be names: they are needed as they are written.
                let span = wire.defined.span();
                let written = span.byte_offset().zip(span.byte_len()).and_then(|(start, length)| {
                    text.get(usize::try_from(start).ok()?..usize::try_from(start + length).ok()?)
                });
                Form::Scalar(written.unwrap_or_default().trim().to_owned(), value)
            }
            FormWire::List(items) => {
                Form::List(items.into_iter().map(|item| Self::new(item, text)).collect())
            }
            FormWire::Map(entries) => Form::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| (Self::new(key, text), Self::new(value, text)))
                    .collect(),
            ),
        };
        let length = if matches!(form, Form::Scalar(..)) { length } else { 0 };
        let location = Location { line: wire.referenced.line(), column: wire.referenced.column(), length };
        Self { location, form, left_out: Cell::new(false) }
    }

    /// The text of a value without parts.
    pub fn text(&self) -> Option<&str> {
        match &self.form {
            Form::Scalar(text, _) => Some(text),
            Form::List(_) | Form::Map(_) => None,
        }
    }

    /// The texts of a list that consists of texts.
    pub fn words(&self) -> Option<Vec<&str>> {
        match &self.form {
            Form::List(items) if !items.is_empty() => items.iter().map(Self::text).collect(),
            Form::Scalar(..) | Form::List(_) | Form::Map(_) => None,
        }
    }

    /// The entries of a map.
    pub fn entries(&self) -> &[(Self, Self)] {
        match &self.form {
            Form::Map(entries) => entries,
            Form::Scalar(..) | Form::List(_) => &[],
        }
    }

    /// The value of a key, whether it is left out or not.
    pub fn value(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(own, _)| own.text() == Some(key)).map(|(_, value)| value)
    }

    /// Adds the positions at which messages on values with parts that are left out are shown, and returns whether this
    /// is one: the keys of such values, the values themselves, and the names in them.
    pub fn incomplete(&self, positions: &mut Vec<Location>) -> bool {
        let is_incomplete = self.is_left_out()
            | match &self.form {
                Form::Scalar(..) => false,
                Form::List(items) => items.iter().fold(false, |any, item| item.incomplete(positions) | any),
                Form::Map(entries) => entries.iter().fold(false, |any, (key, value)| {
                    let is_incomplete = value.incomplete(positions);
                    positions.extend(is_incomplete.then_some(key.location));
                    is_incomplete | any
                }),
            };
        if is_incomplete {
            positions.push(self.location);
            positions.extend(self.value("name").map(|name| name.location));
        }
        is_incomplete
    }

    /// Leaves the value out when the document is read again.
    pub fn leave_out(&self) {
        self.left_out.set(true);
    }

    /// Whether it is left out because of a mistake.
    pub fn is_left_out(&self) -> bool {
        self.left_out.get()
    }
}

type NodeWire = Spanned<FormWire>;

enum FormWire {
    Scalar(Value),
    List(Vec<NodeWire>),
    Map(Vec<(NodeWire, NodeWire)>),
}

/// Values without parts.
macro_rules! visit_scalars {
    ($($method:ident $type:ty),+) => {$(
        fn $method<E>(self, value: $type) -> Result<FormWire, E> {
            Ok(FormWire::Scalar(value.into()))
        }
    )+};
}

read_form! {
    deserialize_any, "a value", FormWire,
    fn visit_unit<E>(self) -> Result<FormWire, E> {
        Ok(FormWire::Scalar(Value::Null))
    }
    visit_scalars! { visit_bool bool, visit_u64 u64, visit_i64 i64, visit_f64 f64, visit_str &str }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<FormWire, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(FormWire::List)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FormWire, A::Error> {
        let next = || map.next_entry().transpose();
        std::iter::from_fn(next).collect::<Result<_, _>>().map(FormWire::Map)
    }
}
