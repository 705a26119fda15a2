//! The guard as a process of its own, and questions to a person: what needs many processes, a browser or long sessions.
#![cfg(test)]

#[path = "../support/mod.rs"]
mod support;

mod waiting;
