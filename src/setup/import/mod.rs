//! `opsctl init --from`: drafts a `hosts.yaml` from what describes or runs services already. [`read`] collects hosts and
//! services, [`Draft::complete`] fills in guesses, and [`text`] writes them, each guess with a comment.

mod command;
mod draft;
mod error;
mod files;
pub mod naming;
mod source;
pub mod sources;
pub mod text;

pub use error::ImportError;
pub use source::{Source, read};
