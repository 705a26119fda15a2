//! Guardrails for agents on real servers: see `ARCHITECTURE.md` for the flow.

// Only `verbs::terminal::output` writes to the terminal.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod gates;
pub mod guard;
pub mod hooks;
pub mod machine;
pub mod pages;
pub mod sessions;
pub mod setup;
pub mod verbs;
