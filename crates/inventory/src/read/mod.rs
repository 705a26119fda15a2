//! From YAML to the types in `yaml`: every value is read, and what cannot be read is a mistake of its own.

mod fault;
mod reader;
mod subject;
pub mod tree;
pub mod usual;

use serde::de::DeserializeOwned;

use super::error::Mistakes;
use fault::{Fault, Problem};
use subject::{Name, Subject};
use tree::Node;

/// Reads a value. A part that cannot be read is added to the mistakes and left out; `None` if nothing remains.
///
/// Each attempt ends at a mistake and leaves the part with it out of the next attempt.
pub fn read<T: DeserializeOwned>(root: &Node, found: &mut Mistakes) -> Option<T> {
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

/// The keys of a map, as its type names them where it finds a text instead of a map.
pub fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let read = |text: &Node| T::deserialize(Subject { node: text, name: Name::File }).err();
    match Node::parse("text").map(|text| read(&text)) {
        Ok(Some(Fault::Raised(Problem::Map(keys)))) => keys,
        _ => &[],
    }
}
