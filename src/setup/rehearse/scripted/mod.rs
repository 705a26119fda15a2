//! The scripted model: its server, its messages and its script.

pub mod http;
pub mod messages;
pub mod model;
mod others;
pub mod script;
