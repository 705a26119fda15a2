//! The audit: every decision, and the chain that shows whether one was altered.

pub mod chain;
pub mod decisions;
pub(crate) mod entry;
