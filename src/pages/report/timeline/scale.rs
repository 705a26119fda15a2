//! The scale of the time axis.

use chrono::{DateTime, TimeDelta, Utc};

/// Maps times between the start of the period and now to positions.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub since: DateTime<Utc>,
    pub now: DateTime<Utc>,
}

impl Scale {
    /// The position of a time, 0 to 100 per cent, rounded to hundredths. Times outside the period are clamped.
    pub fn x(self, at: DateTime<Utc>) -> f64 {
        let seconds = |delta: TimeDelta| f64::from(i32::try_from(delta.num_seconds()).unwrap_or(i32::MAX));
        let part = seconds(at - self.since) / seconds(self.now - self.since).max(1.0);
        (part.clamp(0.0, 1.0) * 1e4).round() / 1e2
    }
}
