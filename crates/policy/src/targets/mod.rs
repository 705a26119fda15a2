//! Which service and host an action concerns.

pub mod hosts;
pub mod identity;
pub mod nearest;
