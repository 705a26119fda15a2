//! The rules. Every function here is pure: values in, verdict out; the time is an argument.

pub mod budgets;
#[cfg(test)]
mod cases;
pub mod decide;
pub mod effects;
pub mod files;
mod lists;
pub mod model;
pub mod paths;
pub mod rules;
pub mod screen;
mod selection;
pub mod targets;
pub mod texts;

pub use opsctl_reader::words;
