//! The ticks of the time axis.

use chrono::{DateTime, TimeDelta, Timelike as _, Utc};
use serde::Serialize;

use super::scale::Scale;

/// The maximum number of ticks.
const MOST: i64 = 9;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The possible steps between ticks, in seconds.
const STEPS: [i64; 14] = [
    600,
    1800,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    5 * DAY,
    7 * DAY,
    14 * DAY,
    30 * DAY,
    90 * DAY,
    365 * DAY,
];

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tick {
    x: f64,
    label: String,
    /// The alignment of its label (`text-anchor`), so that no label is cut off at the ends.
    anchor: &'static str,
    /// Whether it is hidden on narrow screens.
    minor: bool,
}

/// The ticks, at round times.
pub fn ticks(scale: Scale) -> Vec<Tick> {
    let Scale { since, now } = scale;
    let span = (now - since).num_seconds().max(1);
    let Some(step) = STEPS.into_iter().find(|step| span / step <= MOST) else { return vec![] };
    let first = since.timestamp().div_euclid(step) * step + step;
    let mut ticks = Vec::new();
    let mut at = DateTime::from_timestamp(first, 0);
    while let Some(time) = at.filter(|time| *time <= now) {
        let x = scale.x(time);
        let anchor = match x {
            ..4.0 => "start",
            96.0.. => "end",
            _ => "middle",
        };
        ticks.push(Tick { x, label: label(time, step), anchor, minor: ticks.len() % 2 == 1 });
        at = time.checked_add_signed(TimeDelta::seconds(step));
    }
    ticks
}

fn label(at: DateTime<Utc>, step: i64) -> String {
    let midnight = at.hour() == 0 && at.minute() == 0;
    at.format(if step >= DAY || midnight { "%-d %b" } else { "%H:%M" }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(since: &str, now: &str) -> Vec<String> {
        let scale = Scale { since: since.parse().unwrap(), now: now.parse().unwrap() };
        let ticks = ticks(scale);
        assert!(ticks.iter().all(|tick| (0.0..=100.0).contains(&tick.x)), "{ticks:?}");
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_at_round_times_and_limited_in_number() {
        let day = labels("2026-03-20T14:20:00Z", "2026-03-21T14:20:00Z");
        assert_eq!(day, ["15:00", "18:00", "21:00", "21 Mar", "03:00", "06:00", "09:00", "12:00"]);
        let week = labels("2026-03-14T14:20:00Z", "2026-03-21T14:20:00Z");
        assert_eq!(week, ["15 Mar", "16 Mar", "17 Mar", "18 Mar", "19 Mar", "20 Mar", "21 Mar"]);
        for since in
            ["2026-03-21T14:19:00Z", "2026-02-19T14:20:00Z", "2025-03-01T00:00:00Z", "2021-01-01T00:00:00Z"]
        {
            assert!(labels(since, "2026-03-21T14:20:00Z").len() <= 10, "{since}");
        }
    }
}
