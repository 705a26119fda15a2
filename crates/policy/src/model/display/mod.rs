//! Numbers and times as text.

pub mod percentile;
pub mod relative_time;
pub mod thousands;
