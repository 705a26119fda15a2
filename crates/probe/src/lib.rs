//! Network checks: reachability of hosts and health of services.

pub mod before;
pub mod engine;
pub mod health;
pub mod hosts;
pub mod icmp;
mod resolve;
mod runtime;
