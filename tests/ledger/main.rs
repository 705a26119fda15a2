//! Budgets under pressure: many processes, kills, broken input, broken disks, odd clocks, other writers.
#![cfg(test)]

mod answer;
mod at_once;
mod broken_state;
mod clock;
mod commands;
mod cooldown_json;
mod fault_rows;
mod input;
mod kills;
mod life_cycle;
mod log;
mod lost;
mod other_writer;
mod random;
#[path = "../support/sandbox.rs"]
mod sandbox;
mod session_manager;
mod size_limits;
mod stdin;
mod unreported;
mod years;

/// How often 200 processes ask at once; the tests of the guard do it more often.
const ROUNDS_AT_ONCE: usize = 5;
