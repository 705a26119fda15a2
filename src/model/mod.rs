//! Plain types that all layers share. They access no file, socket, clock or database, and do not depend on JSON, YAML
//! or SQL.

pub mod action;
pub mod ask;
pub mod checks;
pub mod client_setting;
pub mod container;
pub mod context;
pub mod effect;
pub mod event;
pub mod guest;
pub mod hooks;
pub mod identity;
pub mod inventory;
pub mod message;
pub mod mode;
pub mod names;
pub mod notice;
pub mod percentile;
pub mod plain_text;
pub mod policy;
pub mod public_key;
pub mod question;
pub mod reference;
pub mod relative_time;
pub mod repository_server;
pub mod rules;
pub mod session;
pub mod spend;
mod text_form;
pub mod thousands;
pub mod tier;
pub mod tool_limits;
pub mod verb;
pub mod verdict;
pub mod window;
pub mod workload;
