//! The hooks that the client would run, from all sources, and why others do not run.

mod finding;
pub mod mods;
mod sources;
mod survey;

pub use finding::finding;
pub use sources::{Locations, read};
pub use survey::{Hook, Origin, SourceState, Survey, survey};
