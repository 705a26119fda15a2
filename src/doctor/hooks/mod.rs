//! The hooks that a session of the client would have: which run, from which file, and which do not, and why.

mod finding;
mod sources;
mod survey;

pub use finding::finding;
pub use sources::{Places, Scope, Source, read};
pub use survey::{Hook, Ignored, Origin, SourceState, Survey, survey};
