//! Metrics for Prometheus, from the ledger, the policy in force and a ping of the hosts.

pub mod families;
pub mod format;
mod values;

use chrono::{DateTime, Utc};

use crate::machine::environment::Environment;
use format::Format;

/// The content type of [`Format::OpenMetrics`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics in this format. Blocks while it reads the ledger, and does not ping hosts if `ping_hosts` is false.
pub fn text(format: Format, environment: &Environment, now: DateTime<Utc>, ping_hosts: bool) -> String {
    format::text(&families::of(&values::read(environment, now, ping_hosts)), format)
}
