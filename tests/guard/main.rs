//! The guard as a process of its own, and the answers of persons: real clients, browsers, attackers, kills and load.
//! Slow: `.ci/run` calls them, `tests/run` does not.
#![cfg(test)]

#[path = "../ledger/at_once.rs"]
mod at_once;
#[path = "../report/browser.rs"]
mod browser;
#[path = "../support/guard_process.rs"]
mod guard_process;
#[path = "../ledger/random.rs"]
#[allow(dead_code, reason = "this crate uses its own part of it")]
mod random;
#[path = "../support/sandbox.rs"]
mod sandbox;
#[path = "../support/mod.rs"]
mod support;

mod api;
mod desk;
mod doors;
mod questions;
mod socket;
mod waiting;

/// How often 200 processes ask at once.
const ROUNDS_AT_ONCE: usize = 20;
