//! Checks of hosts and services over real networks: each test has a separate network with real peers.
#![cfg(test)]

mod cluster;
mod homelab;
mod hosts;
mod servers;
#[path = "../support/mod.rs"]
mod support;
mod verify;
