//! Guardrails for agents on real servers: see `ARCHITECTURE.md` for the flow.

// Only `cli::output` writes to the terminal.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod actions;
pub mod approval;
pub mod catalogue;
pub mod cli;
pub mod context;
pub mod doctor;
pub mod guard;
pub mod held_variables;
pub mod hook;
pub mod import;
pub mod inventory;
pub mod kept_lines;
mod languages;
pub mod launch;
pub mod ledger;
pub mod link;
pub mod manifest;
pub mod metrics;
pub mod model;
pub mod path;
pub mod plain_file;
pub mod policy;
pub mod probe;
pub mod redact;
pub mod rehearse;
pub mod render;
pub mod report;
pub mod runtime;
pub mod serve;
pub mod session;
pub mod shell;
pub mod suggest;
pub mod write_limit;
