//! Simple commands: assignments, functions and builtins.

pub mod assign;
pub mod attributes;
pub(crate) mod builtins;
pub mod counter;
pub mod functions;
pub(crate) mod invocation;
pub mod simple;
pub(crate) mod startup;
