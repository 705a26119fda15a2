//! Looking at the world: whether hosts answer.

pub mod icmp;
mod resolve;
