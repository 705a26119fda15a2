//! Follows what the shell does itself: lists, compound commands, functions, builtins, redirections.

mod choices;
pub mod commands;
mod compound;
pub(crate) mod conditions;
pub mod files;
pub(crate) mod join;
pub(crate) mod list;
mod loops;
pub mod output;
pub(crate) mod run;
mod traps;
pub(crate) mod ways;
