//! The constants that `build.rs` writes from `rules.yaml`.

use super::rule::{Placeholders, Rule};

include!(concat!(env!("OUT_DIR"), "/secrets.rs"));
