//! From YAML to the types in `yaml`: every value is read, and what cannot be read is a mistake of its own.

mod fault;
mod reader;
mod subject;
pub mod tree;
pub mod usual;

use serde::de::DeserializeOwned;

use super::error::Found;
use fault::Fault;
use subject::{Name, Subject};
use tree::Node;

/// Reads a value. A part that cannot be read is added to the mistakes and left out; `None` if nothing remains.
///
/// Each attempt ends at a mistake and leaves the part with it out of the next attempt.
pub fn read<T: DeserializeOwned>(root: &Node, found: &mut Found) -> Option<T> {
    while !found.is_full() {
        let subject = Subject { node: root, name: Name::File };
        match T::deserialize(subject) {
            Ok(value) => return Some(value),
            Err(fault) => match fault.at(subject) {
                Fault::Settled(mistake) => mistake.into_iter().for_each(|mistake| found.add(mistake)),
                Fault::Raised(_) => return None,
            },
        }
        if root.is_left_out() {
            return None;
        }
    }
    None
}
