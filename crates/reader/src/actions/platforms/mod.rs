//! How single platforms name what they act on.

pub mod ansible;
pub mod compose;
pub mod engine;
pub mod forge_api;
pub mod guest;
pub mod http_api;
pub mod kubectl;
