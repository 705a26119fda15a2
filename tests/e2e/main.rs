//! End-to-end tests with the real client. `tests/setup` installs their dependencies.
#![cfg(test)]

mod boundary;
mod client_facts;
mod containment;
mod context;
mod entrypoint;
mod events;
mod fullness;
mod guard;
mod hook_sources;
mod kills;
mod managed;
mod matrix;
mod mcp_server;
mod modes;
mod notification;
mod own_hooks;
mod rules;
mod session_facts;
mod sessions;
#[path = "../support/mod.rs"]
mod support;
mod tier_1;
mod tiers;
mod tool_output;
mod verification;
mod verification_by_model;
