//! The texts of events, notices and sessions.

pub mod notices;
pub mod report;
pub mod session;
