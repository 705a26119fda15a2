//! Reads bash text without running it: the commands that it would run, their actions and what they do to the world.

pub mod actions;
pub mod catalogue;
pub mod languages;
pub mod manifest;
pub mod path;
pub mod shell;
pub mod terms;
