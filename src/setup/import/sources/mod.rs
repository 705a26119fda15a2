//! The forms of files and programs that state hosts and services.

pub mod ansible;
pub mod compose;
pub mod containers;
pub mod kubernetes;
pub mod labels;
pub mod units;
pub mod variables;
