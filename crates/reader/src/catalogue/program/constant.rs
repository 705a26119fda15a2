//! The description of a program as a Rust expression, which the build script compiles in.

use std::collections::BTreeMap;

use super::list::{List, Map, Options, Part, Scripts};

/// A value that can be written as a constant expression.
pub trait Constant {
    /// The type as it is written in Rust.
    fn type_name() -> String;

    /// The value as a constant expression, whose lists and parts are statics.
    fn expression(&self, statics: &mut Statics) -> String;
}

/// The lists and parts of the expressions, one static for all that are equal. The compiler needs ten times as long for one
/// expression of two megabytes.
#[derive(Debug, Default)]
pub struct Statics {
    /// Their definitions.
    pub text: String,
    names: BTreeMap<String, usize>,
}

impl Statics {
    /// The name of the static with this type and value.
    fn named(&mut self, definition: String) -> String {
        let next = self.names.len();
        let number = *self.names.entry(definition).or_insert_with_key(|definition| {
            self.text += &format!("static S{next}: {definition};\n");
            next
        });
        format!("S{number}")
    }

    /// A reference to a static slice of these items.
    pub fn slice<T: Constant>(&mut self, items: &[T]) -> String {
        let expressions: Vec<String> = items.iter().map(|item| item.expression(self)).collect();
        self.named(format!("&[{}] = &[{}]", T::type_name(), expressions.join(", ")))
    }
}

macro_rules! lists {
    ($($name:literal $list:ty, $($of:ident)*;)+) => {$(
        impl<$($of: Constant),*> Constant for $list {
            fn type_name() -> String {
                let of: Vec<String> = vec![$($of::type_name()),*];
                if of.is_empty() { $name.to_owned() } else { format!("{}<{}>", $name, of.join(", ")) }
            }

            fn expression(&self, statics: &mut Statics) -> String {
                if self.is_empty() { concat!($name, "::EMPTY").to_owned() } else { format!("{}({})", $name, statics.slice(self)) }
            }
        }
    )+};
}

lists! {
    "List" List<T>, T;
    "Map" Map<K, V>, K V;
    "Options" Options,;
    "Scripts" Scripts,;
}

impl<T: Constant> Constant for Part<T> {
    fn type_name() -> String {
        format!("Part<{}>", T::type_name())
    }

    fn expression(&self, statics: &mut Statics) -> String {
        let value = self.0.expression(statics);
        format!("Part({})", statics.named(format!("&{} = &{value}", T::type_name())))
    }
}

impl<T: Constant> Constant for Option<T> {
    fn type_name() -> String {
        format!("Option<{}>", T::type_name())
    }

    fn expression(&self, statics: &mut Statics) -> String {
        match self {
            Some(value) => format!("Some({})", value.expression(statics)),
            None => "None".to_owned(),
        }
    }
}

impl<K: Constant, V: Constant> Constant for (K, V) {
    fn type_name() -> String {
        format!("({}, {})", K::type_name(), V::type_name())
    }

    fn expression(&self, statics: &mut Statics) -> String {
        format!("({}, {})", self.0.expression(statics), self.1.expression(statics))
    }
}

/// Types whose debug form is an expression behind this prefix.
macro_rules! plain {
    ($($type:ty, $prefix:expr;)+) => {$(
        impl $crate::catalogue::program::constant::Constant for $type {
            fn type_name() -> String {
                stringify!($type).to_owned()
            }

            fn expression(&self, _: &mut $crate::catalogue::program::constant::Statics) -> String {
                format!("{}{self:?}", $prefix)
            }
        }
    )+};
}
pub(super) use plain;

plain! {
    bool, "";
    usize, "";
    &str, "";
}
