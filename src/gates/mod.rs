//! Gates before servers: the guard has the credentials, and judges each request before it passes on.
//!
//! Each gate reads the requests of one protocol, states them as the command that does the same, and asks [`admission`], which
//! judges them as every other tool call.

pub mod admission;
mod approved;
pub mod containers;
pub mod engine;
pub mod host;
pub mod kubernetes;
pub mod peer;
pub mod proxy;
pub mod remote;
pub mod ssh;
