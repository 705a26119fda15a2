//! The terminal: input, text and tables, failures and exit codes.

pub mod exit_code;
pub mod failure;
pub mod input;
pub mod listing;
pub mod mistakes;
pub mod output;
pub mod person;
pub mod progress;
pub mod project;
pub mod screen;
pub mod table;
pub mod text;
pub mod time;
pub mod watch;
