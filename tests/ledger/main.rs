//! Budgets under pressure: many processes, kills, broken input, broken disks, odd clocks, other writers.

mod at_once;
mod input;
mod kills;
mod random;
#[path = "../support/sandbox.rs"]
mod sandbox;
