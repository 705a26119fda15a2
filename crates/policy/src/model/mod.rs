//! Plain types that all layers share. They access no file, socket, clock or database, and do not depend on JSON, YAML
//! or SQL.

pub mod ask;
pub mod checks;
pub mod client_setting;
pub mod container;
pub mod context;
pub mod event;
pub mod hooks;
pub mod identity;
pub mod inventory;
pub mod names;
pub mod notice;
pub mod percentile;
pub mod policy;
pub mod public_key;
pub mod question;
pub mod relative_time;
pub mod repository_server;
pub mod rules;
pub mod session;
pub mod spend;
pub mod thousands;
pub mod tier;
pub mod tool_limits;
pub mod verdict;
pub mod window;

pub use opsctl_reader::terms::{action, effect, guest, message, mode, plain_text, reference, verb, workload};
