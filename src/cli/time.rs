//! Times as people write and read them.

use chrono::{DateTime, SecondsFormat, Utc};

use crate::ledger::time;
pub use crate::model::distance::distance;
use crate::model::policy::Window;

/// A moment on the command line: `2h` and `3d` ago, or a time.
pub fn since(text: &str) -> Result<DateTime<Utc>, String> {
    moment(text, Utc::now()).ok_or_else(|| {
        "write how long ago, such as `2h` or `3d`, or a time such as `2026-03-21T14:00:00Z`".to_owned()
    })
}

fn moment(text: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    time::read(text).or_else(|| now.checked_sub_signed(Window::parse(text)?.delta()))
}

/// A moment in a line: as it is, or how long ago.
pub fn shown(at: Option<DateTime<Utc>>, relative: bool, now: DateTime<Utc>) -> String {
    match at {
        None => "unknown time".to_owned(),
        Some(at) if relative => distance(at - now),
        Some(at) => at.to_rfc3339_opts(SecondsFormat::Secs, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_how_long_ago() {
        let now = "2026-03-21T14:00:00Z".parse().unwrap();
        for (text, told) in [
            ("2026-03-20 13:00:00", Some("2026-03-20T13:00:00+00:00")),
            ("2h", Some("2026-03-21T12:00:00+00:00")),
            ("yesterday", None),
            ("", None),
            ("9999999999d", None),
        ] {
            assert_eq!(moment(text, now).map(|at| at.to_rfc3339()).as_deref(), told, "{text}");
        }
    }
}
