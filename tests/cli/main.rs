//! The program as its callers see it: arguments, stdin, environment in; exit code, stdout, stderr, files out.
#![cfg(test)]

mod agents;
mod audit;
mod clients;
mod context;
mod context_warnings;
mod doctor;
mod events;
mod explain;
#[path = "../support/fake_client.rs"]
mod fake_client;
#[path = "../support/guard_process.rs"]
mod guard_process;
mod guarded;
mod handoff;
mod hidden_characters;
mod homelab;
mod hooks;
mod hosts_yaml;
mod identity;
mod import;
mod init;
mod launch;
mod lint;
mod manners;
mod mcp;
mod metrics;
mod modes;
mod monitor;
mod place;
mod policy_tests;
mod programs;
mod questions;
mod render;
mod replay;
mod report;
mod rules;
#[path = "../support/sandbox.rs"]
mod sandbox;
mod secrets;
mod services;
mod session;
mod session_start;
mod sessions;
mod spending;
mod status;
mod tier;
mod tool_output;
