//! The gates before servers: a guard, the agent's side without credentials, and real servers.
#![cfg(test)]

#[path = "../support/guard_process.rs"]
mod guard_process;
mod lab;
#[path = "../support/sandbox.rs"]
mod sandbox;
mod ssh;
mod engine;
mod fake_engine;
mod real_engines;
mod host;
mod install;
mod kubernetes;
mod on_host;
#[path = "../support/mod.rs"]
mod support;
