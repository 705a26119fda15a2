//! The constants that `build.rs` writes from `rules.yaml`.

use super::rule::Rule;

include!(concat!(env!("OUT_DIR"), "/secrets.rs"));
