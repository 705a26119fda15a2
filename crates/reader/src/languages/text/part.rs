//! Pieces of texts in code.

/// A piece of a text in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Literal text.
    Known(String),
    /// An expression, as written.
    Unknown(String),
}

impl Part {
    /// The literal text, if it is one.
    pub fn known(&self) -> Option<&str> {
        if let Self::Known(text) = self { Some(text) } else { None }
    }

    /// The text, literal or as written.
    pub fn source(&self) -> &str {
        let (Self::Known(text) | Self::Unknown(text)) = self;
        text
    }
}
