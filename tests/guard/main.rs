//! The guard as a process of its own, with real clients: sessions, kills and load.
#![cfg(test)]

mod api;
#[path = "../support/mod.rs"]
mod support;
