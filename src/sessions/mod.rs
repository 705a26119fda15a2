//! Runs sessions of the client: prompt, MCP servers, output, records and hand-overs.

pub mod alone;
mod child;
mod credentials;
mod deliveries;
pub mod handoff;
pub mod launch;
mod log;
pub mod mcp;
pub mod output;
mod pinned;
pub mod prompt;
pub mod record;
pub mod run;
pub mod session;
mod start;
pub mod transcript;
pub mod verifier;
