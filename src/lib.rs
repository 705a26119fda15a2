//! Guardrails for agents on real servers: see `ARCHITECTURE.md` for the flow.

// Only `cli::output` writes to the terminal.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod approval;
pub mod cli;
pub mod context;
pub mod doctor;
pub mod guard;
pub mod hook;
pub mod import;
pub mod launch;
pub mod link;
pub mod metrics;
pub mod rehearse;
pub mod render;
pub mod report;
pub mod runtime;
pub mod serve;
pub mod session;
pub mod suggest;

pub use opsctl_inventory as inventory;
pub use opsctl_ledger as ledger;
pub use opsctl_machine::{held_variables, kept_lines, plain_file, write_limit};
pub use opsctl_policy as policy;
pub use opsctl_policy::model;
pub use opsctl_probe as probe;
pub use opsctl_reader::{actions, catalogue, manifest, path, shell};
pub use opsctl_redact as redact;
