//! From times to places on the page.

use chrono::{DateTime, TimeDelta, Utc};

/// Where a moment stands between the beginning of the period and the page's making.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub since: DateTime<Utc>,
    pub now: DateTime<Utc>,
}

impl Scale {
    /// In per cent, to the hundredth. A clock that was set back puts nothing off the page.
    pub fn x(self, at: DateTime<Utc>) -> f64 {
        let seconds = |delta: TimeDelta| f64::from(i32::try_from(delta.num_seconds()).unwrap_or(i32::MAX));
        let part = seconds(at - self.since) / seconds(self.now - self.since).max(1.0);
        (part.clamp(0.0, 1.0) * 1e4).round() / 1e2
    }
}
