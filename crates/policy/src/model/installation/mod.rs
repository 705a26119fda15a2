//! What an installation consists of: hosts, services and their names.

pub mod checks;
pub mod client_setting;
pub mod container;
pub mod context;
pub mod hooks;
pub mod identity;
pub mod inventory;
pub mod names;
pub mod repository_server;
