//! Which service and host an action concerns.

pub mod identity;
pub mod nearest;
