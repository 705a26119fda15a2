//! The lanes of the timeline: one per service, with marks and a table. The template has the words.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::axis::Scale;
use super::entries::{Entry, Kind};

/// Marks of one kind that are closer than this, in per cent of the lane's width, are merged: the first of these with which there
/// are at most [`MOST_MARKS`].
const SLOTS: [f64; 5] = [0.8, 1.6, 3.2, 6.4, 12.8];

/// The maximum number of marks in all lanes together.
const MOST_MARKS: usize = 600;

/// The name of the lane for entries that concern no single service.
const NO_SERVICE: &str = "no single service";

/// The entries of one service, newest first.
pub type Group = (Option<String>, Vec<Entry>);

/// Groups entries by service: those with problems first, then those with most entries; entries without a service last.
pub fn by_service(entries: Vec<Entry>) -> Vec<Group> {
    let mut services: BTreeMap<Option<String>, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        services.entry(entry.service.clone()).or_default().push(entry);
    }
    let mut groups: Vec<Group> = services.into_iter().collect();
    groups.sort_by_key(|(service, entries)| {
        let trouble = entries.iter().filter(|entry| entry.kind.is_trouble()).count();
        (service.is_none(), Reverse((trouble, entries.len())))
    });
    groups
}

/// The lanes: of each, its service, the counts per kind, marks, at most `rows` rows of its table, and the number of further ones.
pub fn lanes(groups: &[Group], scale: Scale, rows: usize) -> Vec<Value> {
    let with_marks =
        |slot| -> Vec<Vec<Value>> { groups.iter().map(|(_, entries)| marks(entries, scale, slot)).collect() };
    let are_few = |marks: &Vec<Vec<Value>>| marks.iter().map(Vec::len).sum::<usize>() <= MOST_MARKS;
    let [first, rest @ ..] = SLOTS;
    let mut marks = with_marks(first);
    for slot in rest {
        if !are_few(&marks) {
            marks = with_marks(slot);
        }
    }
    groups.iter().zip(marks).map(|(group, marks)| lane(group, &marks, rows)).collect()
}

fn lane((service, entries): &Group, marks: &[Value], rows: usize) -> Value {
    json!({
        "service": service.as_deref().unwrap_or(NO_SERVICE),
        "no_service": service.is_none(),
        "counts": counts(entries),
        "marks": marks,
        "rows": entries.iter().take(rows).collect::<Vec<_>>(),
        "more": entries.len().saturating_sub(rows),
    })
}

/// A service without a lane, with its counts.
pub fn rest((service, entries): &Group) -> Value {
    json!({ "service": service.as_deref().unwrap_or(NO_SERVICE), "counts": counts(entries) })
}

fn counts(entries: &[Entry]) -> BTreeMap<Kind, usize> {
    let of = |kind| entries.iter().filter(|entry| entry.kind == kind).count();
    Kind::ALL.into_iter().map(|kind| (kind, of(kind))).collect()
}

/// The marks, with close entries of one kind merged. Problems are drawn last, on top.
fn marks(entries: &[Entry], scale: Scale, slot: f64) -> Vec<Value> {
    let mut marks = Vec::new();
    for kind in Kind::ALL {
        // From the latest entry backwards.
        let mut left: Vec<&Entry> = entries.iter().filter(|entry| entry.kind == kind).collect();
        while let Some(latest) = left.first().copied() {
            let is_far = |entry: &&Entry| scale.x(latest.at) - scale.x(entry.at) >= slot;
            let later = left.split_off(left.iter().position(is_far).unwrap_or(left.len()));
            let earliest = left.last().copied().unwrap_or(latest);
            marks.push(json!({
                // The middle of the merged entries.
                "x": ((scale.x(latest.at) + scale.x(earliest.at)) * 50.0).round() / 100.0,
                "latest": latest,
                "since": earliest.at,
                "count": left.len(),
            }));
            left = later;
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale() -> Scale {
        Scale { since: "2026-03-14T00:00:00Z".parse().unwrap(), now: "2026-03-21T00:00:00Z".parse().unwrap() }
    }

    fn entry(at: &str, service: &str, kind: Kind) -> Entry {
        Entry {
            at: format!("2026-03-{at}:00Z").parse().unwrap(),
            service: (!service.is_empty()).then(|| service.to_owned()),
            kind,
            what: "docker restart x".to_owned(),
            why: String::new(),
            decision: None,
        }
    }

    #[test]
    fn close_marks_are_merged_and_counted() {
        let at = [("20T12:00", Kind::Done), ("17T12:10", Kind::Done), ("17T12:05", Kind::Denied)];
        let entries = at.into_iter().chain([("17T12:00", Kind::Done)]).map(|(at, kind)| entry(at, "a", kind));
        let marks = marks(&entries.collect::<Vec<_>>(), scale(), SLOTS[0]);
        let fields =
            |mark: &Value| [&mark["x"], &mark["latest"]["kind"], &mark["count"]].map(Value::to_string);
        let shown: Vec<String> = marks.iter().map(|mark| fields(mark).join(" ")).collect();
        assert_eq!(shown, ["92.86 \"done\" 1", "50.05 \"done\" 2", "50.05 \"denied\" 1"]);
        assert_eq!(marks[1]["since"], "2026-03-17T12:00:00Z");
    }

    #[test]
    fn a_long_history_has_a_limited_number_of_marks() {
        let at = |n| scale().now - chrono::TimeDelta::minutes(n);
        let entries = (0..10_000).map(|n| Entry { at: at(n), ..entry("20T00:00", "a", Kind::Done) });
        let lane = lanes(&[(None, entries.collect())], scale(), 25).remove(0);
        let length = |key: &str| lane[key].as_array().unwrap().len();
        assert!(length("marks") <= 126);
        assert_eq!(
            (length("rows"), &lane["more"], &lane["counts"]["done"]),
            (25, &9975.into(), &10_000.into())
        );
    }

    #[test]
    fn many_lanes_have_fewer_marks_each() {
        let at = |n| scale().now - chrono::TimeDelta::minutes(n);
        let entries =
            |_| (0..5_000).map(|n| Entry { at: at(n), ..entry("20T00:00", "a", Kind::Done) }).collect();
        let groups: Vec<Group> = (0..15).map(|n| (Some(n.to_string()), entries(n))).collect();
        let lanes = lanes(&groups, scale(), 5);
        let marks: usize = lanes.iter().map(|lane| lane["marks"].as_array().unwrap().len()).sum();
        assert!((200..=MOST_MARKS).contains(&marks), "{marks}");
    }

    #[test]
    fn services_with_problems_come_first() {
        let quiet = || entry("20T12:00", "quiet", Kind::Denied);
        let failed = |service| entry("20T12:00", service, Kind::Failed);
        let groups = by_service(vec![quiet(), quiet(), failed(""), failed("ill")]);
        let shown: Vec<Value> =
            lanes(&groups, scale(), 25).into_iter().map(|mut lane| lane["service"].take()).collect();
        assert_eq!(shown, ["ill", "quiet", NO_SERVICE]);
    }
}
