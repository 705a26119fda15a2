//! Commands that code in other languages runs.

pub mod awk_lines;
pub mod embedded;
pub mod interpreter;
pub mod interpreter_calls;
pub mod libraries;
pub mod sed_commands;
