//! The timeline: actions, denials and verifications by service.

mod axis;
mod entries;
mod lanes;
mod scale;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::format::count;
pub use entries::{Entry, Kind, entries};
use scale::Scale;

/// The maximum number of lanes; services with problems come first.
const MOST_LANES: usize = 30;

#[derive(Serialize)]
pub struct TimelineView {
    ticks: Vec<axis::Tick>,
    lanes: Vec<lanes::Lane>,
    /// The services without a lane, with their counts.
    rest: Vec<lanes::Rest>,
    rest_summary: String,
}

impl TimelineView {
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
