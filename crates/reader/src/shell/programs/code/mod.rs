//! Commands that code in other languages runs.

pub mod awk_lines;
pub mod embedded;
mod evaluation;
pub mod interpreter;
pub mod interpreter_calls;
pub mod libraries;
mod reading;
pub mod sed_commands;
