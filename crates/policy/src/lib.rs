//! The rules. Every function here is pure: values in, verdict out; the time is an argument.

mod archive;
pub mod ask;
pub mod budget;
pub mod decide;
pub mod dry_run;
pub mod effect;
pub mod file_entry;
pub mod files;
pub mod glob;
pub mod hosts;
pub mod identity;
mod lists;
pub mod model;
pub mod modes;
pub mod nearest;
pub mod never;
pub mod notices;
pub mod pattern;
pub mod prefixes;
pub mod report;
pub mod session;
pub mod spend;
pub mod tier;
pub mod tool;
mod unidentified;
pub mod window;
pub mod word_paths;

pub use opsctl_reader::words;

use crate as policy;
use opsctl_reader::{actions, catalogue, languages, path, shell};
