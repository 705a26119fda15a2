//! Durations as written in `hosts.yaml` and on the command line.

use std::fmt;
use std::time::Duration;

use chrono::TimeDelta;

/// A duration between one second and ten years, written as `4h`, `1h30m` or `2d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window(TimeDelta);

impl Window {
    /// Ten seconds.
    pub const TEN_SECONDS: Self = Self(TimeDelta::seconds(10));
    /// Thirty seconds.
    pub const HALF_A_MINUTE: Self = Self(TimeDelta::seconds(30));

    /// A window of this many hours.
    pub const fn hours(hours: u16) -> Self {
        Self(TimeDelta::seconds(hours as i64 * 3600))
    }

    /// A window of this many minutes.
    pub const fn minutes(minutes: u16) -> Self {
        Self(TimeDelta::seconds(minutes as i64 * 60))
    }

    /// A window of this many seconds; `None` unless it is between one second and ten years.
    pub fn seconds(seconds: i64) -> Option<Self> {
        (1..=315_360_000).contains(&seconds).then(|| Self(TimeDelta::seconds(seconds)))
    }

    /// The duration, for arithmetic with timestamps.
    pub const fn delta(self) -> TimeDelta {
        self.0
    }

    /// The duration, for timeouts.
    pub fn duration(self) -> Duration {
        // A window is never negative.
        self.0.to_std().unwrap_or_default()
    }

    /// Parses `90s`, `30m`, `4h`, `2d` and sums of them such as `1h30m`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut total: i64 = 0;
        let mut rest = text.trim();
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let (number, tail) = rest.split_at(digits);
            let mut chars = tail.chars();
            let unit = match chars.next()? {
                's' => 1,
                'm' => 60,
                'h' => 3600,
                'd' => 86_400,
                _ => return None,
            };
            total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
            rest = chars.as_str();
        }
        Self::seconds(total)
    }
}

opsctl_reader::text_form!(
    Window,
    Window::parse,
    "is not a duration; write one such as `30m`, `4h`, `1h30m` or `2d`"
);

impl fmt::Display for Window {
    /// Formats in hours, minutes and seconds, never in days, as Claude Ops does (`24h`, not `1d`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.num_seconds();
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        if rest > 0 {
            write!(f, "{rest}s")?;
        }
        Ok(())
    }
}
