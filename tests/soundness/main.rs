//! Generated programs, with real bash as the judge: what a program runs in any run must be in its reading.
#![cfg(test)]

#[path = "../support/action_summary.rs"]
mod action_summary;
mod commands;
mod coverage;
mod forms;
mod generator;
mod judge;
mod kept;
#[path = "../support/map_disk.rs"]
mod map_disk;
mod program;
mod search;
mod shrink;
mod words;
mod world;
