//! The lanes of the timeline: one per service, with marks and a table.

use std::collections::BTreeMap;

use serde::Serialize;

use super::entries::{Entry, Kind};
use super::scale::Scale;
use crate::pages::report::format::{Moment, count, grouped};

/// Marks of one kind that are closer than this, in per cent of the lane's width, are merged.
const SLOT: f64 = 0.8;

/// The maximum number of rows in a lane's table; further ones are counted.
const MOST_ROWS: usize = 25;

/// The name of the lane for entries that concern no single service.
const NO_SERVICE: &str = "no single service";

/// The entries of one service, newest first.
pub struct Group {
    service: Option<String>,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
pub struct Lane {
    service: String,
    /// Whether the lane is not that of a service.
    no_service: bool,
    /// The counts per kind.
    summary: Vec<Part>,
    marks: Vec<Mark>,
    rows: Vec<Entry>,
    more: usize,
}

/// A count such as `2 failed`, and whether it is a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Part {
    text: String,
    trouble: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Mark {
    x: f64,
    kind: Kind,
    /// The number of merged entries: `one`, `some` or `many`.
    size: &'static str,
    title: String,
}

/// A service without a lane, with its counts.
#[derive(Serialize)]
pub struct Rest {
    service: String,
    summary: Vec<Part>,
}

/// Groups entries by service: those with problems first, then those with most entries; entries without a service last.
pub fn by_service(entries: Vec<Entry>) -> Vec<Group> {
    let mut services: BTreeMap<Option<String>, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        services.entry(entry.service.clone()).or_default().push(entry);
    }
    let mut groups: Vec<Group> =
        services.into_iter().map(|(service, entries)| Group { service, entries }).collect();
    groups.sort_by_key(|group| {
        let trouble = group.entries.iter().filter(|entry| entry.kind.is_trouble()).count();
        (group.service.is_none(), std::cmp::Reverse((trouble, group.entries.len())))
    });
    groups
}

impl Lane {
    pub fn of(group: Group, scale: Scale) -> Self {
        let Group { service, entries } = group;
        Self {
            no_service: service.is_none(),
            summary: summary(&entries),
            marks: marks(&entries, scale),
            more: entries.len().saturating_sub(MOST_ROWS),
            rows: entries.into_iter().take(MOST_ROWS).collect(),
            service: service.unwrap_or_else(|| NO_SERVICE.to_owned()),
        }
    }
}

impl Rest {
    pub fn of(group: &Group) -> Self {
        Self {
            service: group.service.clone().unwrap_or_else(|| NO_SERVICE.to_owned()),
            summary: summary(&group.entries),
        }
    }
}

/// The counts per kind: `3 actions`, `1 failed`, `2 denied`. Actions include failed ones.
fn summary(entries: &[Entry]) -> Vec<Part> {
    let of = |kind| entries.iter().filter(|entry| entry.kind == kind).count();
    let actions = of(Kind::Done) + of(Kind::Failed);
    let counted = [
        (actions, if actions == 1 { "action" } else { "actions" }, false),
        (of(Kind::Failed), "failed", true),
        (of(Kind::Denied), "denied", false),
        (of(Kind::Unchecked), "ran unchecked", true),
        (of(Kind::Healthy), "healthy", false),
        (of(Kind::Unhealthy), "unhealthy", true),
    ];
    let counted = counted.into_iter().filter(|(count, ..)| *count > 0);
    counted
        .map(|(count, words, trouble)| Part { text: format!("{} {words}", grouped(count)), trouble })
        .collect()
}

/// The marks, with close entries of one kind merged. Problems are drawn last, on top.
fn marks(entries: &[Entry], scale: Scale) -> Vec<Mark> {
    let mut marks: Vec<(Kind, Vec<&Entry>)> = Vec::new();
    for kind in Kind::ALL {
        // From the latest entry backwards.
        for entry in entries.iter().filter(|entry| entry.kind == kind) {
            match marks.last_mut() {
                Some((of, together))
                    if *of == kind
                        && together
                            .first()
                            .is_some_and(|first| scale.x(first.at) - scale.x(entry.at) < SLOT) =>
                {
                    together.push(entry);
                }
                _ => marks.push((kind, vec![entry])),
            }
        }
    }
    marks.into_iter().filter_map(|(kind, together)| mark(kind, &together, scale)).collect()
}

fn mark(kind: Kind, together: &[&Entry], scale: Scale) -> Option<Mark> {
    let (latest, earliest) = (together.first()?, together.last()?);
    let (one, many) = kind.words();
    let until = Moment::of(latest.at, scale.now).shown;
    let title = if together.len() == 1 {
        // The text of a verification needs no prefix.
        let lead =
            if matches!(kind, Kind::Healthy | Kind::Unhealthy) { String::new() } else { format!("{one}: ") };
        let why = if latest.why.is_empty() { String::new() } else { format!("\n{}", latest.why) };
        format!("{until}\n{lead}{}{why}", latest.what)
    } else {
        let from = Moment::of(earliest.at, scale.now).shown;
        format!("{from} to {until}\n{}", count(together.len(), one, many))
    };
    Some(Mark {
        // The middle of the merged entries.
        x: ((scale.x(latest.at) + scale.x(earliest.at)) * 50.0).round() / 100.0,
        kind,
        size: match together.len() {
            ..=1 => "one",
            2..5 => "some",
            _ => "many",
        },
        title,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale() -> Scale {
        Scale { since: "2026-03-14T00:00:00Z".parse().unwrap(), now: "2026-03-21T00:00:00Z".parse().unwrap() }
    }

    fn entry(at: &str, service: &str, kind: Kind) -> Entry {
        let at = format!("2026-03-{at}:00Z").parse().unwrap();
        Entry {
            at,
            service: (!service.is_empty()).then(|| service.to_owned()),
            kind,
            what: "docker restart x".to_owned(),
            why: String::new(),
            decision: None,
        }
    }

    #[test]
    fn close_marks_are_merged_and_counted() {
        let entries = [
            entry("20T12:00", "a", Kind::Done),
            entry("17T12:10", "a", Kind::Done),
            entry("17T12:05", "a", Kind::Denied),
            entry("17T12:00", "a", Kind::Done),
        ];
        let marks = marks(&entries, scale());
        let shown: Vec<(f64, Kind, &str)> = marks.iter().map(|mark| (mark.x, mark.kind, mark.size)).collect();
        assert_eq!(
            shown,
            [(92.86, Kind::Done, "one"), (50.05, Kind::Done, "some"), (50.05, Kind::Denied, "one")]
        );
        assert_eq!(marks[1].title, "17 Mar 12:00 UTC to 17 Mar 12:10 UTC\n2 actions");
        assert_eq!(marks[0].title, "20 Mar 12:00 UTC\naction: docker restart x");
    }

    #[test]
    fn a_long_history_has_a_limited_number_of_marks() {
        let entries: Vec<Entry> = (0..10_000)
            .map(|n| Entry {
                at: scale().now - chrono::TimeDelta::minutes(n),
                ..entry("20T00:00", "a", Kind::Done)
            })
            .collect();
        assert!(marks(&entries, scale()).len() <= 126);
        let lane = Lane::of(Group { service: None, entries }, scale());
        assert_eq!((lane.rows.len(), lane.more, lane.summary[0].text.as_str()), (25, 9975, "10,000 actions"));
    }

    #[test]
    fn services_with_problems_come_first() {
        let entries = vec![
            entry("20T12:00", "quiet", Kind::Denied),
            entry("20T12:00", "quiet", Kind::Denied),
            entry("20T12:00", "", Kind::Failed),
            entry("20T12:00", "ill", Kind::Failed),
        ];
        let lanes: Vec<Lane> =
            by_service(entries).into_iter().map(|group| Lane::of(group, scale())).collect();
        let shown: Vec<(&str, String)> = lanes
            .iter()
            .map(|lane| {
                let parts = lane.summary.iter().map(|part| part.text.as_str()).collect::<Vec<_>>();
                (lane.service.as_str(), parts.join(", "))
            })
            .collect();
        let expected =
            [("ill", "1 action, 1 failed"), ("quiet", "2 denied"), (NO_SERVICE, "1 action, 1 failed")];
        assert_eq!(shown, expected.map(|(service, summary)| (service, summary.to_owned())));
    }
}
