//! Follows what the shell does itself: lists, compound commands, functions, builtins, redirections.

mod assign;
mod attributes;
pub(crate) mod builtins;
mod compound;
mod counter;
mod disk_files;
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
mod sinks;
pub(crate) mod startup;
mod written_files;
