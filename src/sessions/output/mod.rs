//! What the client prints, line by line.

pub mod lines;
pub mod markers;
pub mod progress;
pub mod stream;
