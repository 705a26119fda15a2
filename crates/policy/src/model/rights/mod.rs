//! What `hosts.yaml` permits.

pub mod ask;
pub mod header;
pub mod policy;
pub mod public_key;
pub mod rules;
pub mod spend;
pub mod tier;
pub mod tool_limits;
pub mod window;
