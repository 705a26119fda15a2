//! The gates before servers: a guard, the agent's side without credentials, and real servers.
#![cfg(test)]

mod engine;
mod engine_of_a_host;
mod engine_places;
mod engine_streams;
#[path = "../support/fake_client.rs"]
mod fake_client;
mod fake_engine;
#[path = "../support/guard_process.rs"]
mod guard_process;
mod install;
mod kubernetes;
mod lab;
mod on_host;
mod real_clusters;
mod real_engines;
#[path = "../support/sandbox.rs"]
mod sandbox;
mod serve;
mod spellings;
mod ssh;
#[path = "../support/mod.rs"]
mod support;
