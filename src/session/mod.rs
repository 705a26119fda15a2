//! Running the client: what a session is started with, what comes out of it, what it hands over.

mod child;
pub mod handoff;
mod lines;
mod log;
pub mod markers;
pub mod mcp;
mod progress;
pub mod prompt;
pub mod record;
pub mod redact;
pub mod run;
mod stream;
