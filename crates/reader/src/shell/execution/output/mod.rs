//! What commands write, and where it goes.

pub mod disk_files;
pub mod filters;
pub mod listing;
pub(crate) mod printed;
pub mod redirect;
pub mod sinks;
pub mod written_files;
