//! The time axis: its scale and its ticks.

use chrono::{DateTime, FixedOffset, Offset as _, TimeDelta, Timelike as _, Utc};
use serde_json::{Value, json};

use crate::pages::report::format::local;

/// The maximum number of ticks.
const MOST: i64 = 9;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The possible steps between ticks, in hours; shorter ones are 10 and 30 minutes.
const HOURS: [i64; 12] = [1, 3, 6, 12, 24, 2 * 24, 5 * 24, 7 * 24, 14 * 24, 30 * 24, 90 * 24, 365 * 24];

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

/// The ticks, at round times of this machine's zone. Every second one is hidden on narrow screens.
pub fn ticks(scale: Scale) -> Vec<Value> {
    ticks_in(local(scale.now).offset().fix(), scale)
}

fn ticks_in(zone: FixedOffset, scale: Scale) -> Vec<Value> {
    let Scale { since, now } = scale;
    let east = i64::from(zone.local_minus_utc());
    let span = (now - since).num_seconds().max(1);
    let mut steps = [600, 1800].into_iter().chain(HOURS.map(|hours| hours * HOUR));
    let Some(step) = steps.find(|step| span / step <= MOST) else { return vec![] };
    let first = (since.timestamp() + east).div_euclid(step) * step + step - east;
    let times = (first..=now.timestamp()).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    let times = times.filter_map(|at| DateTime::from_timestamp(at, 0));
    times.map(|at| json!({ "x": scale.x(at), "label": label(at.with_timezone(&zone), step) })).collect()
}

fn label(at: DateTime<FixedOffset>, step: i64) -> String {
    let midnight = at.hour() == 0 && at.minute() == 0;
    at.format(if step >= DAY || midnight { "%-d %b" } else { "%H:%M" }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(since: &str, now: &str) -> Vec<String> {
        labels_in(0, since, now)
    }

    fn labels_in(hours: i32, since: &str, now: &str) -> Vec<String> {
        let zone = FixedOffset::east_opt(hours * 3600).unwrap();
        let ticks = ticks_in(zone, Scale { since: since.parse().unwrap(), now: now.parse().unwrap() });
        assert!(ticks.iter().all(|tick| (0.0..=100.0).contains(&tick["x"].as_f64().unwrap())), "{ticks:?}");
        ticks.iter().map(|tick| tick["label"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn ticks_are_at_round_times_and_limited_in_number() {
        let day = labels("2026-03-20T14:20:00Z", "2026-03-21T14:20:00Z");
        assert_eq!(day, ["15:00", "18:00", "21:00", "21 Mar", "03:00", "06:00", "09:00", "12:00"]);
        let east = labels_in(2, "2026-03-20T14:20:00Z", "2026-03-21T14:20:00Z");
        assert_eq!(east, ["18:00", "21:00", "21 Mar", "03:00", "06:00", "09:00", "12:00", "15:00"]);
        let week = labels("2026-03-14T14:20:00Z", "2026-03-21T14:20:00Z");
        assert_eq!(week, ["15 Mar", "16 Mar", "17 Mar", "18 Mar", "19 Mar", "20 Mar", "21 Mar"]);
        for since in
            ["2026-03-21T14:19:00Z", "2026-02-19T14:20:00Z", "2025-03-01T00:00:00Z", "2021-01-01T00:00:00Z"]
        {
            assert!(labels(since, "2026-03-21T14:20:00Z").len() <= 10, "{since}");
        }
    }
}
