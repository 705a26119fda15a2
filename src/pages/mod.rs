//! What people see: the report, the desk and metrics.

pub mod desk;
pub mod metrics;
pub mod report;
