//! Enums whose values are words.

/// Defines an enum with a word for each value: its constant `ALL` has every value, `as_str` returns the word, and `named`
/// the value of a word.
#[macro_export]
macro_rules! words {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident { $($(#[$of_variant:meta])* $variant:ident = $word:literal),+ $(,)? }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$of_variant])* $variant),+ }

        impl $name {
            /// Every value.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word for it, in JSON, in files and in the ledger.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of this word; `None` for any other word.
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == word)
            }
        }
    };
}
