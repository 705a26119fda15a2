//! Times as text.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

/// Formats a time as `2026-03-21T14:22:00Z`.
pub fn timestamp(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Formats a duration relative to now in its largest unit: `3m ago`, `in 2h`.
pub fn relative_time(delta: TimeDelta) -> String {
    let seconds = delta.num_seconds();
    let amount = match seconds.unsigned_abs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        seconds => format!("{}d", seconds / 86_400),
    };
    if seconds > 0 { format!("in {amount}") } else { format!("{amount} ago") }
}
