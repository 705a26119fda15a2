//! End to end: the real client, held to its settings. `tests/setup` installs what this needs.
#![cfg(test)]

mod client_facts;
mod containment;
mod context;
mod entrypoint;
mod events;
mod fullness;
mod guard;
mod hook_sources;
mod managed;
mod matrix;
mod modes;
mod notification;
mod own_hooks;
mod rules;
mod session_facts;
mod sessions;
#[path = "../support/mod.rs"]
mod support;
mod tiers;
mod verification;
