//! Commands that code in other languages runs.

pub mod awk_lines;
pub mod embedded;
mod evaluation;
pub mod interpreter;
mod library;
mod modules;
pub(crate) mod reading;
pub mod sed_commands;
mod stability;
mod unfollowed;
