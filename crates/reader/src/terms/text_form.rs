//! The serialised form of types that are one text.

/// Implements the traits of serde for a type that `Display` writes and the function `$read` reads, which returns `None` for
/// an invalid text. `$problem` states what an invalid text is not, and what to write instead.
#[macro_export]
macro_rules! text_form {
    ($type:ty, $read:path, $problem:literal) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as ::serde::Deserialize>::deserialize(deserializer)?;
                $read(&text).ok_or_else(|| ::serde::de::Error::custom($problem))
            }
        }
    };
}
