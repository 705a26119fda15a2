//! Formatting of times, amounts and names.

use std::fmt::Display;

use chrono::{DateTime, Datelike as _, Local, TimeDelta, TimeZone, Utc};
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, HtmlEscape};
use serde::Serialize;
use serde_json::Value;

use opsctl_ledger::time;
use opsctl_policy::model::display::relative_time::relative_time;
use opsctl_policy::model::display::thousands;

/// The maximum length of a text, in characters.
const LONGEST: usize = 400;

/// A time in the forms that the page shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// RFC 3339, for machines.
    pub iso: String,
    /// The displayed time, in the zone of this machine: `21 Mar 14:22 +01:00`.
    pub shown: String,
    /// Relative to the creation of the page: `3m ago`.
    pub relative: String,
}

impl Moment {
    /// The forms of `at` as of `now`.
    pub fn of(at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        Self { iso: time::write(at), shown: shown_in(&Local, at, now), relative: relative_time(at - now) }
    }
}

/// A time in the zone of this machine: that of `TZ`, or of `/etc/localtime`.
pub fn local(at: DateTime<Utc>) -> DateTime<Local> {
    at.with_timezone(&Local)
}

/// The date, the time and the offset in a zone; the year only if it is not that of `now`.
fn shown_in<Z: TimeZone>(zone: &Z, at: DateTime<Utc>, now: DateTime<Utc>) -> String
where
    Z::Offset: Display,
{
    let (at, now) = (at.with_timezone(zone), now.with_timezone(zone));
    at.format(if at.year() == now.year() { "%-d %b %H:%M %:z" } else { "%-d %b %Y %H:%M %:z" }).to_string()
}

/// A text of sentences as HTML: what is in backquotes is code, and timestamps are in the zone of this machine.
pub fn prose(text: &str, now: DateTime<Utc>) -> String {
    let text: String = text.split_inclusive(char::is_whitespace).map(|word| local_times(word, now)).collect();
    let mut html = String::with_capacity(text.len());
    for (place, part) in text.split('`').enumerate().filter(|(_, part)| !part.is_empty()) {
        let escaped = HtmlEscape(part);
        html += &if place % 2 == 1 { format!("<code>{escaped}</code>") } else { escaped.to_string() };
    }
    html
}

/// A word whose timestamp, if it is one, is in the zone of this machine.
fn local_times(word: &str, now: DateTime<Utc>) -> String {
    let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    match time::read(core).filter(|_| core.len() >= 20 && core.starts_with(|c: char| c.is_ascii_digit())) {
        Some(at) => word.replace(core, &shown_in(&Local, at, now)),
        None => word.to_owned(),
    }
}

/// Adds the filters that format times, amounts and counts, as of `now`.
pub fn add_filters(templates: &mut Environment<'_>, now: DateTime<Utc>) {
    templates.add_filter("moment", move |text: &str| {
        let at = time::read(text).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "not a time"))?;
        Ok::<_, Error>(minijinja::Value::from(Serde(&Moment::of(at, now))))
    });
    templates.add_filter("prose", move |text: &str| minijinja::Value::from_safe_string(prose(text, now)));
    templates.add_filter("path_part", path_part);
    templates.add_filter("dollars", dollars);
    templates.add_filter("fixed", |number: f64, decimals: usize| format!("{number:.decimals$}"));
    templates.add_filter("took", took);
    templates.add_filter("grouped", grouped);
    templates.add_filter("counted", |number: usize, one: &str, many: &str| count(number, one, many));
}

/// Records as a template gets them: each text is [`plain`].
pub fn shown(records: impl Serialize) -> Value {
    let mut value = serde_json::to_value(records).unwrap_or_default();
    for_texts(&mut value, &plain);
    value
}

/// An object with further entries.
pub fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// Changes each text of a value.
pub fn for_texts(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(values) => values.iter_mut().for_each(|value| for_texts(value, change)),
        Value::Object(entries) => entries.values_mut().for_each(|value| for_texts(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Removes secrets, replaces hidden characters with spaces, and truncates with `…`.
pub fn plain(text: &str) -> String {
    opsctl_redact::shortened(text, LONGEST)
}

/// Formats a count: `1 action`, `12,345 actions`.
pub fn count(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Formats a number with thousands separators.
pub fn grouped(number: usize) -> String {
    thousands::grouped(u64::try_from(number).unwrap_or(u64::MAX))
}

/// Formats US dollars to the cent, amounts below ten cents to a tenth of a cent.
pub fn dollars(amount: f64) -> String {
    // The sum of no values is -0.0.
    let amount = amount + 0.0;
    if amount > 0.0 && amount < 0.1 { format!("${amount:.3}") } else { format!("${amount:.2}") }
}

/// Formats a duration in milliseconds: `41s`, `3m20s`, `1h05m`.
pub fn took(milliseconds: i64) -> String {
    let delta = TimeDelta::milliseconds(milliseconds.max(0));
    match delta.num_seconds() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        seconds => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Formats a period: `7 days`, `24 hours`, `10 minutes`.
pub fn span(delta: TimeDelta) -> String {
    let whole = |number: i64, one, many| count(usize::try_from(number).unwrap_or(0), one, many);
    match delta.num_minutes() {
        minutes @ 2880.. => whole(minutes / 1440, "day", "days"),
        minutes @ 120.. => whole(minutes / 60, "hour", "hours"),
        minutes => whole(minutes, "minute", "minutes"),
    }
}

/// The share in per cent, rounded to tenths; 0 if `whole` is 0.
pub fn per_cent(part: usize, whole: usize) -> f64 {
    let of = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    if whole == 0 { 0.0 } else { (of(part) / of(whole) * 1000.0).round() / 10.0 }
}

/// A text as one part of the path of an address.
pub fn path_part(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_a_time_absolute_and_relative() {
        let now = "2026-03-21T14:00:00Z".parse().unwrap();
        let zone = chrono::FixedOffset::east_opt(3600).unwrap();
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        assert_eq!(shown_in(&zone, at("2026-03-21T12:00:00Z"), now), "21 Mar 13:00 +01:00");
        assert_eq!(shown_in(&zone, at("2025-12-31T22:59:59Z"), now), "31 Dec 2025 23:59 +01:00");
        assert_eq!(shown_in(&zone, at("2025-12-31T23:59:59Z"), now), "1 Jan 00:59 +01:00");
        let moment = Moment::of(at("2026-03-21T12:00:00Z"), now);
        assert_eq!((moment.iso.as_str(), moment.relative.as_str()), ("2026-03-21T12:00:00Z", "2h00m ago"));
    }

    #[test]
    fn sentences_show_code_and_local_times_and_are_escaped() {
        let now = "2026-03-21T14:00:00Z".parse().unwrap();
        assert_eq!(prose("run `a <b>` & <i>", now), "run <code>a &lt;b&gt;</code> &amp; &lt;i&gt;");
        assert_eq!(prose("cut: `docker rest…", now), "cut: <code>docker rest…</code>");
        let at = shown_in(&Local, now, now);
        let at = HtmlEscape(&at);
        assert_eq!(prose("Next allowed at 2026-03-21T14:00:00Z. 5", now), format!("Next allowed at {at}. 5"));
    }

    #[test]
    fn removes_control_characters_and_direction_marks() {
        assert_eq!(plain("a\n\u{1b}[31mb\u{202e}c"), "a  [31mb c");
        assert_eq!(plain(&"x".repeat(LONGEST)).chars().count(), LONGEST);
        assert!(plain(&"x".repeat(LONGEST + 1)).ends_with("x…"));
    }

    #[test]
    fn formats_amounts() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([-0.0, 0.031_24, 0.1, 12.345].map(dollars), ["$0.00", "$0.031", "$0.10", "$12.35"]);
        assert_eq!([900, 41_000, 200_000, 3_900_000, -5].map(took), ["0s", "41s", "3m20s", "1h05m", "0s"]);
        let spans = [10, 60, 24 * 60, 7 * 24 * 60].map(|minutes| span(TimeDelta::minutes(minutes)));
        assert_eq!(spans, ["10 minutes", "60 minutes", "24 hours", "7 days"]);
        assert_eq!((per_cent(1, 3).to_string(), per_cent(0, 0).to_string()), ("33.3".into(), "0".into()));
    }

    #[test]
    fn an_id_of_a_session_is_one_part_of_an_address() {
        assert_eq!(path_part("a/../b ?#%"), "a%2F..%2Fb%20%3F%23%25");
    }
}
