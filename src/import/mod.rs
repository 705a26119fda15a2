//! `opsctl init --from`: drafts a `hosts.yaml` from what describes or runs services already. [`read`] collects hosts and
//! services, [`Draft::complete`] fills in guesses, and [`text`] writes them, each guess with a comment.

mod ansible;
mod command;
mod compose;
mod containers;
mod draft;
mod error;
mod files;
mod kubernetes;
mod labels;
pub mod naming;
mod source;
pub mod text;
mod units;
mod variables;

pub use error::ImportError;
pub use source::{Source, read};
