//! Runs sessions of the client: prompt, MCP servers, output, records and hand-overs.

mod child;
mod credentials;
mod deliveries;
pub mod handoff;
pub mod launch;
mod lines;
mod log;
pub mod markers;
pub mod mcp;
mod pinned;
mod progress;
pub mod prompt;
pub mod record;
pub mod run;
pub mod stream;
pub mod transcript;
