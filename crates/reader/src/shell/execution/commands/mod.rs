//! Simple commands: assignments, functions and builtins.

pub(crate) mod aliases;
pub mod assign;
pub mod attributes;
pub(crate) mod builtins;
pub mod counter;
pub(crate) mod declarations;
mod emptied;
mod folders;
pub mod functions;
pub(crate) mod input;
pub(crate) mod invocation;
pub(crate) mod modes;
pub mod simple;
pub(crate) mod startup;
