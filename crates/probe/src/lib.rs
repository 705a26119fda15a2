//! Network checks: reachability of hosts and health of services.

pub mod engine;
pub mod health;
pub mod hosts;
pub mod icmp;
mod resolve;

use opsctl_policy::model;
use opsctl_redact as redact;
