//! The timeline: actions, denials and verifications by service.

mod axis;
mod entries;
mod lanes;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use axis::Scale;
pub use entries::{Entry, Kind, entries};

/// The maximum number of lanes; services with problems come first.
const MOST_LANES: usize = 30;

/// The data of the section: the ticks of the axis, the lanes with at most `rows` rows in their tables, and the services without a
/// lane.
pub fn timeline(entries: Vec<Entry>, since: DateTime<Utc>, now: DateTime<Utc>, rows: usize) -> Value {
    let scale = Scale { since: begin(entries.last(), since, now), now };
    let mut groups = lanes::by_service(entries);
    let rest = groups.split_off(groups.len().min(MOST_LANES));
    json!({
        "ticks": axis::ticks(scale),
        "lanes": groups.iter().map(|group| lanes::lane(group, scale, rows)).collect::<Vec<_>>(),
        "rest": rest.iter().map(lanes::rest).collect::<Vec<_>>(),
    })
}

/// The beginning of the axis: shortly before the first entry, so that the width is that of the time in which something happened.
fn begin(first: Option<&Entry>, since: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
    let before = |first: DateTime<Utc>| first - ((now - first) / 20).max(TimeDelta::minutes(10));
    first.map_or(since, |first| before(first.at).max(since))
}
