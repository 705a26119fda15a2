//! The guard as a process of its own, under kills, load and hostile peers. Slow: `.ci/run` calls them.
#![cfg(test)]

#[path = "../support/guard_process.rs"]
mod guard_process;
#[path = "../ledger/random.rs"]
#[allow(dead_code, reason = "this crate uses its own part of it")]
mod random;
#[path = "../support/sandbox.rs"]
mod sandbox;
mod socket;
