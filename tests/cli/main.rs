//! The program as its callers see it: arguments, stdin, environment in; exit code, stdout, stderr, files out.
#![cfg(test)]

mod doctor;
mod explain;
mod hooks;
mod hosts_yaml;
mod init;
mod manners;
mod render;
mod rules;
#[path = "../support/sandbox.rs"]
mod sandbox;
mod session_start;
mod tier;
