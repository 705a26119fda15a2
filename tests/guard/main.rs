//! The guard as a process of its own, with real clients: browsers, sessions, kills and load.
#![cfg(test)]

mod api;
#[path = "../report/browser.rs"]
mod browser;
mod desk;
mod questions;
#[path = "../support/sandbox.rs"]
mod sandbox;
#[path = "../support/mod.rs"]
mod support;
