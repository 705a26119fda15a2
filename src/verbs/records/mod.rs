//! Verbs about the ledger: lists, budgets, numbers and pages.

pub mod audit;
pub mod cooldown;
pub mod db;
pub mod events;
pub mod grant;
pub mod metrics;
pub mod prune;
pub mod report;
pub mod sessions;
pub mod stats;
pub mod status;
pub mod verify;
