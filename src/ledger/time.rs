//! Timestamps as the database holds them: ours in RFC 3339 UTC, those of other writers as they are.

use chrono::{DateTime, NaiveDateTime, SecondsFormat, TimeDelta, Utc};

/// How this program writes a time: `2026-03-21T14:22:00Z`.
pub fn write(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Reads RFC 3339 with any offset and fraction, and SQLite's `YYYY-MM-DD HH:MM:SS`, which is UTC.
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

/// A text that sorts before every timestamp at or after `time`, in either format and any offset.
///
/// The two formats differ after the date (` ` sorts before `T`) and an offset may move the date by one
/// day, so only a date two days back is safe to compare with.
pub fn floor(time: DateTime<Utc>) -> String {
    (time - TimeDelta::days(2)).format("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_writers_time_is_read() {
        let expected: DateTime<Utc> = "2026-03-21T14:22:00Z".parse().unwrap();
        for text in [
            "2026-03-21T14:22:00Z",
            "2026-03-21T14:22:00.000Z",
            "2026-03-21T15:22:00+01:00",
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
