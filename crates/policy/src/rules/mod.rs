//! Rules that need no history.

pub mod ask;
pub mod dry_run;
pub mod hosts;
pub mod modes;
pub mod never;
pub mod pattern;
pub mod prefixes;
pub mod tier;
pub mod tool;
