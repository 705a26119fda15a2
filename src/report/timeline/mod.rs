//! What was done, denied and verified, over time and by service.

mod axis;
mod entries;
mod lanes;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::words::count;
pub use entries::{Entry, Kind, entries};

/// The services that get a lane of their own; those with trouble come first.
const MOST_LANES: usize = 30;

#[derive(Serialize)]
pub struct View {
    ticks: Vec<axis::Tick>,
    lanes: Vec<lanes::Lane>,
    /// What happened to services without a lane, counted.
    rest: Vec<lanes::Rest>,
    rest_summary: String,
}

impl View {
    pub fn of(entries: Vec<Entry>, since: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        let scale = Scale { since, now };
        let mut groups = lanes::by_service(entries);
        let rest = groups.split_off(groups.len().min(MOST_LANES));
        Self {
            ticks: axis::ticks(scale),
            lanes: groups.into_iter().map(|group| lanes::Lane::of(group, scale)).collect(),
            rest_summary: count(rest.len(), "more service", "more services"),
            rest: rest.iter().map(lanes::Rest::of).collect(),
        }
    }
}

/// Where a moment stands between the beginning of the period and the page's making.
#[derive(Debug, Clone, Copy)]
struct Scale {
    since: DateTime<Utc>,
    now: DateTime<Utc>,
}

impl Scale {
    /// In per cent, to the hundredth. A clock that was set back puts nothing off the page.
    fn x(self, at: DateTime<Utc>) -> f64 {
        let seconds = |delta: TimeDelta| f64::from(i32::try_from(delta.num_seconds()).unwrap_or(i32::MAX));
        let part = seconds(at - self.since) / seconds(self.now - self.since).max(1.0);
        (part.clamp(0.0, 1.0) * 1e4).round() / 1e2
    }
}
