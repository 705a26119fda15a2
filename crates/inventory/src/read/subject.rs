//! A value of the file, and what messages call it.

use std::fmt;

use super::tree::Node;

/// A value of the file.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub node: &'a Node,
    pub name: Name<'a>,
}

/// What messages call a value.
#[derive(Clone, Copy)]
pub enum Name<'a> {
    /// The whole file.
    File,
    /// The value of a key.
    Key(&'a Node),
    /// An entry of the list with this key.
    Entry(Option<&'a Node>),
}

impl<'a> Name<'a> {
    /// The key of the value, or of the list that it is an entry of.
    pub fn key(&self) -> Option<&'a str> {
        match self {
            Self::Key(key) | Self::Entry(Some(key)) => key.text(),
            Self::File | Self::Entry(None) => None,
        }
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("the file"),
            Self::Key(key) => write!(f, "`{}`", key.text().unwrap_or_default()),
            Self::Entry(Some(key)) => write!(f, "an entry of `{}`", key.text().unwrap_or_default()),
            Self::Entry(None) => f.write_str("an entry"),
        }
    }
}
