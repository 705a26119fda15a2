//! Enums whose values are words.

/// Defines an enum with a word for each value: its constant `ALL` has every value, `as_str` returns the word, `named` the
/// value of a word, and `about` the comment on a value.
#[macro_export]
macro_rules! words {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $(
                $(#[doc = $about:literal])*
                $(#[serde $serde:tt])*
                $(#[default $(= $unused:literal)?])?
                $variant:ident = $word:literal
            ),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $about])* $(#[serde $serde])* $(#[default $(= $unused)?])? $variant),+
        }

        impl $name {
            /// Every value.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word for it, in JSON, in files and in the ledger.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What the comment on it states, for documentation.
            pub fn about(self) -> String {
                let lines: &[&str] = match self { $(Self::$variant => &[$($about),*]),+ };
                lines.concat().trim().to_owned()
            }

            /// The value of this word; `None` for any other word.
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == word)
            }
        }
    };
}
