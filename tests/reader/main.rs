//! What commands mean: their actions, effects and rules, on corpora, within limits, and beside real bash.
#![cfg(test)]

#[path = "../support/action_summary.rs"]
mod action_summary;
mod actions;
mod bounds;
mod catalogue;
#[path = "../support/corpus.rs"]
mod corpus;
mod disk;
mod effects;
mod limits;
mod local_disk;
#[path = "../support/map_disk.rs"]
mod map_disk;
mod oracle;
mod properties;
mod rules;
#[path = "../support/sandbox/mod.rs"]
mod sandbox;
#[path = "../support/scripts.rs"]
mod scripts;
#[path = "../support/what_ran.rs"]
mod what_ran;
