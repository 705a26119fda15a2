//! What surrounds a command: the values of its options, and its variables.

pub mod values;
pub mod variables;
