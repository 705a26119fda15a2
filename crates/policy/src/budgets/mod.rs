//! How often something may happen.

pub mod budget;
pub mod spend;
pub mod unidentified;
pub mod window;
