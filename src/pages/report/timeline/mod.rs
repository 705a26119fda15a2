//! The timeline: actions, denials and verifications by service.

mod axis;
mod entries;
mod lanes;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::pages::report::format::with;
use axis::Scale;
pub use entries::{Entry, Kind, entries};

/// The maximum number of lanes; services with problems come first.
const MOST_LANES: usize = 15;

/// The data of the section: the ticks of the axis, the lanes with their hosts and at most `rows` rows in their tables, and the
/// services without a lane.
pub fn timeline(
    entries: Vec<Entry>,
    (since, now): (DateTime<Utc>, DateTime<Utc>),
    rows: usize,
    host_of: &dyn Fn(&str) -> Option<String>,
) -> Value {
    let scale = Scale { since: begin(entries.last(), since, now), now };
    let mut groups = lanes::by_service(entries);
    let rest = groups.split_off(groups.len().min(MOST_LANES));
    let hosts = groups.iter().map(|(service, _)| service.as_deref().and_then(host_of));
    let lanes = lanes::lanes(&groups, scale, rows).into_iter().zip(hosts);
    let lanes = lanes.map(|(lane, host)| with(lane, json!({ "host": host })));
    json!({
        "ticks": axis::ticks(scale),
        "lanes": lanes.collect::<Vec<_>>(),
        "rest": rest.iter().map(lanes::rest).collect::<Vec<_>>(),
    })
}

/// The beginning of the axis: shortly before the first entry, so that the width is that of the time in which something happened.
fn begin(first: Option<&Entry>, since: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
    let before = |first: DateTime<Utc>| first - ((now - first) / 20).max(TimeDelta::minutes(10));
    first.map_or(since, |first| before(first.at).max(since))
}
