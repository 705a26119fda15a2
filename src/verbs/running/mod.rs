//! Verbs that run sessions of the client or serve them.

pub mod context;
pub mod handoff;
pub mod launch;
pub mod mcp;
pub mod session;
pub mod tier;
