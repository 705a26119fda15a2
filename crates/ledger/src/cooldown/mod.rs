//! Budgets: usage, grants, resets, and `cooldown.json`.

pub mod cooldown_edit;
pub mod cooldown_file;
pub mod grants;
pub mod leases;
pub mod resets;
pub mod usage;
