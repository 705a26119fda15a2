//! Follows what the shell does itself: lists, compound commands, functions, builtins, redirections.

pub mod commands;
mod compound;
mod list;
mod loops;
mod merge;
pub mod output;
pub(crate) mod run;
