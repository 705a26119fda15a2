//! Looking at hosts and services over real networks: each test has one of its own, with real peers in it.
#![cfg(test)]

mod hosts;
mod servers;
#[path = "../support/mod.rs"]
mod support;
mod verify;
