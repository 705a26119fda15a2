//! What commands write, and where it goes.

mod columns;
mod echo;
pub mod filters;
mod foreign;
mod ids;
mod jq;
pub mod listing;
mod measured;
pub(crate) mod printed;
pub mod redirect;
mod regex;
pub(crate) mod scheduled;
mod sed;
pub mod sinks;
