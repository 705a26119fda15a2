//! The guard and the answers of persons, against the real client, attackers and load. Slow: `.ci/run` calls them.
#![cfg(test)]

mod questions;
#[path = "../support/mod.rs"]
mod support;
