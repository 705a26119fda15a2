//! The selection of guarantees.

use super::report::RehearsalError;

/// The guarantees to rehearse: those that contain one of these texts, or all without a text.
#[derive(Debug, Clone, Copy)]
pub struct Only<'a>(&'a [String]);

impl<'a> Only<'a> {
    /// Fails if a text occurs in none of all guarantees.
    pub fn new(texts: &'a [String], all: &[&str]) -> Result<Self, RehearsalError> {
        match texts.iter().find(|text| !all.iter().any(|name| name.contains(text.as_str()))) {
            Some(text) => Err(RehearsalError::NoGuarantee { text: text.clone() }),
            None => Ok(Self(texts)),
        }
    }

    /// Whether it is one of them.
    pub fn includes(self, guarantee: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|text| guarantee.contains(text.as_str()))
    }
}
