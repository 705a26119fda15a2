//! Plain types that all layers share. They access no file, socket, clock or database, and do not depend on JSON, YAML
//! or SQL.

pub mod action;
pub mod checks;
pub mod container;
pub mod context;
pub mod effect;
pub mod event;
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
pub mod reference;
pub mod relative_time;
pub mod rules;
pub mod session;
pub mod thousands;
pub mod tier;
pub mod verb;
pub mod verdict;
pub mod window;
