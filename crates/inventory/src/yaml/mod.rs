//! The shape of `hosts.yaml`. These types mirror the file and are used in `check` only.
//!
//! Their doc comments are the text of `docs/hosts-yaml.md`; a new top-level key is a field of [`file::HostsFileWire`] and a
//! file here.

pub mod checks;
pub mod contacts;
pub mod context;
pub mod file;
pub mod forms;
pub mod hooks;
pub mod policy;
pub mod repositories;
pub mod rules;
pub mod spend;
pub mod values;
