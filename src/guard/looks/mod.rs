//! What is looked at on hosts beside verification.

pub mod before;
pub mod survey;
