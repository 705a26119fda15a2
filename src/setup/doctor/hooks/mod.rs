//! The hooks that the client would run, from all sources, and why others do not run.

mod finding;
pub mod mods;
mod sources;
mod survey;

pub use finding::{CHECK, check};
pub use sources::{Locations, Source, json_file};
pub use survey::{Hook, Origin, Survey};

/// Reads all sources in these places. `bare` is the variable that disables hooks outside managed settings, if one is set.
pub fn survey(locations: &Locations, bare: Option<&str>) -> Survey {
    let sources = sources::read(locations);
    let mods = mods::mods(locations, &sources);
    survey::survey(sources, mods, bare)
}
