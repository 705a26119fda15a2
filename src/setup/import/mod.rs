//! `opsctl init --from`: drafts a `hosts.yaml` from what describes or runs services already. [`read`] collects hosts and
//! services, [`Draft::complete`] fills in guesses, and [`text`] writes them, each guess with a comment.

mod draft;
mod error;
mod file;
mod files;
mod known;
pub mod naming;
mod projects;
mod running;
mod source;
mod sources;
#[cfg(test)]
mod tests;
pub mod text;

pub use draft::{Draft, push_new};
pub use error::ImportError;
pub use source::{Source, read};
