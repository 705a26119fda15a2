//! What keeps a ledger of years small and fast, beside the hooks that use it: old rows are counted and deleted, in steps that are
//! so short that no hook waits for them.

pub mod counters;
mod prune;
mod steps;

pub use steps::{Pace, Tidied, Wanted};
