//! Lists, maps and parts that are compiled in, or created once for the life of the process.

use std::ops::Deref;

use serde::ser::{Serialize, Serializer};

/// Defines lists of constants, which serde writes with this method.
macro_rules! lists {
    ($($(#[$about:meta])* $name:ident $(<$($of:ident),+>)? of $item:ty, $write:ident;)+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name $(<$($of: 'static),+>)? (pub &'static [$item]);

        impl $(<$($of),+>)? $name $(<$($of),+>)? {
            /// Without an item.
            pub const EMPTY: Self = Self(&[]);

            /// The items, for the life of the process.
            pub fn keep(items: Vec<$item>) -> Self {
                if items.is_empty() { Self::EMPTY } else { Self(Vec::leak(items)) }
            }
        }

        impl $(<$($of),+>)? Default for $name $(<$($of),+>)? {
            fn default() -> Self {
                Self::EMPTY
            }
        }

        impl $(<$($of),+>)? Absent for $name $(<$($of),+>)? {
            const ABSENT: Self = Self::EMPTY;
        }

        impl $(<$($of),+>)? Deref for $name $(<$($of),+>)? {
            type Target = [$item];

            fn deref(&self) -> &[$item] {
                self.0
            }
        }

        impl $(<$($of: Copy + Serialize),+>)? Serialize for $name $(<$($of),+>)? {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.$write(self.iter().copied())
            }
        }
    )+};
}

lists! {
    /// A list.
    List<T> of T, collect_seq;
    /// A map, in the order in which it is written.
    Map<K, V> of (K, V), collect_map;
    /// Options as written, `-n` or `--namespace`.
    Options of &'static str, collect_seq;
    /// Patterns of texts with a script. The last `*` stands for the script, each `*` before it for any text. Text after the
    /// last `*` ends the script, ` ...` adds the words of the command line after its first word.
    Scripts of &'static str, collect_seq;
}

/// Texts.
pub type Texts = List<&'static str>;

/// A value whose key may be absent.
pub trait Absent {
    /// The value without the key.
    const ABSENT: Self;
}

impl Absent for bool {
    const ABSENT: Self = false;
}

impl Absent for &str {
    const ABSENT: Self = "";
}

impl<T> Absent for Option<T> {
    const ABSENT: Self = None;
}

/// A fact that few descriptions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<T: 'static>(pub &'static T);

impl<T> Part<T> {
    /// The fact, for the life of the process.
    pub fn keep(fact: T) -> Self {
        Self(Box::leak(Box::new(fact)))
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}
