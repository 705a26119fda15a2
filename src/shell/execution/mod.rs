//! Follows what the shell does itself: lists, compound commands, functions, builtins, redirections.

mod assign;
pub(crate) mod builtins;
mod compound;
mod filters;
mod functions;
pub(crate) mod invocation;
mod list;
mod listing;
mod loops;
mod merge;
pub(crate) mod output;
mod redirect;
pub(crate) mod run;
mod simple;
mod written_files;
