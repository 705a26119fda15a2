//! The hooks that the client would run, from all sources, and why others do not run.

mod finding;
pub mod mods;
mod sources;
mod survey;

pub use finding::finding;
pub use sources::{Locations, Scope, Source, read};
pub use survey::{Hook, Ignored, Origin, SourceState, Survey, survey};
