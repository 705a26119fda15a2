//! The forms of files that state hosts and services.

pub mod ansible;
pub mod compose;
pub mod labels;
pub mod variables;
