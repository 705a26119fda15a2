//! What people see: what needs attention, the report, the desk and metrics.

pub mod attention;
pub mod desk;
pub mod metrics;
pub mod report;
