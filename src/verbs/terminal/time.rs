//! Times in arguments and output.

use chrono::{DateTime, Local, NaiveDate, NaiveTime, Offset as _, Utc};

use opsctl_ledger::time;
pub use opsctl_ledger::time::write as timestamp;
pub use opsctl_policy::model::display::relative_time::relative_time;
use opsctl_policy::model::rights::policy::Window;

/// Why an argument is not a time or a duration.
#[derive(Debug, thiserror::Error)]
pub enum TimeError {
    /// It is not a duration.
    #[error("write a duration such as `2s`, `48h` or `90d`")]
    Duration,
    /// It is neither a duration nor a time.
    #[error(
        "write how long ago, such as `2h` or `3d`, or a time such as `2026-03-21T14:00:00Z` or `2026-03-21`"
    )]
    Moment,
}

/// Parses a duration argument, such as `90d`.
pub fn duration(text: &str) -> Result<Window, TimeError> {
    Window::parse(text).ok_or(TimeError::Duration)
}

/// Parses a `--since` argument: `2h` or `3d` ago, a time, or a date, which is its midnight here.
pub fn since(text: &str) -> Result<DateTime<Utc>, TimeError> {
    moment(text, Utc::now()).ok_or(TimeError::Moment)
}

fn moment(text: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let midnight = |date: NaiveDate| date.and_time(NaiveTime::MIN).and_local_timezone(Local).earliest();
    let date = || Some(midnight(NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d").ok()?)?.to_utc());
    time::read(text).or_else(date).or_else(|| now.checked_sub_signed(Window::parse(text)?.delta()))
}

/// A time for people: that of this machine's zone, with its offset.
pub fn local(at: DateTime<Utc>) -> String {
    let here = at.with_timezone(&Local);
    match here.offset().fix().local_minus_utc() {
        0 => timestamp(at),
        _ => here.format("%Y-%m-%dT%H:%M:%S%:z").to_string(),
    }
}

/// A time of a record for people, as [`local`]; another text is unchanged.
pub fn localised(text: &str) -> String {
    time::read(text).map_or_else(|| text.to_owned(), local)
}

/// Formats a time, absolute or relative.
pub fn shown(at: Option<DateTime<Utc>>, relative: bool, now: DateTime<Utc>) -> String {
    match at {
        None => "unknown time".to_owned(),
        Some(at) if relative => relative_time(at - now),
        Some(at) => local(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_times_and_durations_ago() {
        let now = "2026-03-21T14:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2026-03-20 13:00:00", Some("2026-03-20T13:00:00+00:00")),
            ("2h", Some("2026-03-21T12:00:00+00:00")),
            ("yesterday", None),
            ("", None),
            ("9999999999d", None),
        ] {
            assert_eq!(moment(text, now).map(|at| at.to_rfc3339()).as_deref(), expected, "{text}");
        }
    }
}
