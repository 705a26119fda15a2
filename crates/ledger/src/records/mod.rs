//! What the ledger records.

pub mod actions;
pub mod audit;
pub mod checks;
pub mod containers;
pub mod desk;
pub mod events;
pub mod gates;
pub mod history;
pub mod notices;
pub mod outcomes;
#[cfg(test)]
pub mod plans;
pub mod questions;
pub mod spend;
pub mod unreported;
pub mod verifications;

pub use audit::{chain, decisions};
