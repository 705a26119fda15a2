//! Looking at the world: whether hosts answer, and whether services are healthy.

pub mod health;
pub mod hosts;
pub mod icmp;
mod resolve;
