//! Timestamps in the database: RFC 3339 in UTC from opsctl, other formats from other writers.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use serde::{Serialize as _, Serializer};

pub use opsctl_policy::model::display::relative_time::timestamp as write;

/// A text that sorts before every timestamp.
pub const BEFORE_ALL: &str = "0001-01-01";

/// Parses RFC 3339 with any offset and fraction, and SQLite's `YYYY-MM-DD HH:MM:SS`, which is UTC.
pub fn read(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.with_timezone(&Utc));
    }
    ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f"]
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
        .map(|time| time.and_utc())
}

/// Serialises a time as [`write`] formats it, for times of other writers, which may have fractions of a second.
pub fn serialize<S: Serializer>(at: &Option<DateTime<Utc>>, serializer: S) -> Result<S::Ok, S::Error> {
    at.map(write).serialize(serializer)
}

/// A text that sorts before every timestamp at or after `time`, in any format and with any offset: the date one day before.
///
/// The formats differ after the date (` ` sorts before `T`), and an offset of less than a day moves the date by at most one.
pub fn floor(time: DateTime<Utc>) -> String {
    (time - TimeDelta::days(1)).format("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_time_formats_of_all_writers() {
        let expected: DateTime<Utc> = "2026-03-21T14:22:00Z".parse().unwrap();
        for text in [
            "2026-03-21T14:22:00Z",
            "2026-03-21T14:22:00.000Z",
            "2026-03-21T15:22:00+01:00",
            "2026-03-22T14:21:00+23:59",
            "2026-03-20T14:23:00-23:59",
            "2026-03-21 14:22:00",
            "2026-03-21T14:22:00",
            " 2026-03-21T14:22:00Z ",
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
            assert!(floor(expected).as_str() < text.trim(), "{text}");
        }
        assert_eq!(read("yesterday"), None);
    }
}
