//! The entries of the timeline.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::pages::report::data::ReportData;
use crate::pages::report::format::plain;
use opsctl_policy::texts::report::verification;

/// The kind of an entry. Its serialised name is the CSS class of its mark, and the symbol's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An action ran.
    Done,
    /// An action ran and failed.
    Failed,
    /// A command was denied.
    Denied,
    /// A command ran without a check, because the guard failed.
    Unchecked,
    /// A service was found healthy.
    Healthy,
    /// A service was found unhealthy.
    Unhealthy,
}

impl Kind {
    pub const ALL: [Self; 6] =
        [Self::Done, Self::Failed, Self::Denied, Self::Unchecked, Self::Healthy, Self::Unhealthy];

    /// Whether it is a problem. A denial is not.
    pub const fn is_trouble(self) -> bool {
        matches!(self, Self::Failed | Self::Unchecked | Self::Unhealthy)
    }
}

/// An entry of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub at: DateTime<Utc>,
    /// The service; `None` if it concerns no single service.
    pub service: Option<String>,
    pub kind: Kind,
    /// The description.
    pub what: String,
    /// The reason, if any.
    pub why: String,
    /// The id of the decision, if it is one.
    pub decision: Option<i64>,
}

/// All entries, newest first.
pub fn entries(data: &ReportData<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let by = |agent| data.named(agent).map(|agent| format!(" (agent {agent})")).unwrap_or_default();
    for action in &data.actions.rows {
        let what = action.verb.as_deref().unwrap_or(&action.kind);
        let host = action.host.as_deref().map(|host| format!(" on {host}")).unwrap_or_default();
        entries.push(Entry {
            at: action.at,
            service: Some(plain(&action.service)),
            kind: if action.succeeded == Some(true) { Kind::Done } else { Kind::Failed },
            what: plain(&format!("{what}{host}{}", by(action.agent.as_ref()))),
            why: if action.succeeded.is_none() { "outcome unknown".to_owned() } else { String::new() },
            decision: None,
        });
    }
    for decision in &data.decisions.rows {
        let kind = match decision.verdict.as_str() {
            "deny" | "fail-closed" => Kind::Denied,
            "fail-open" => Kind::Unchecked,
            _ => continue,
        };
        let Some(at) = decision.at else { continue };
        let mut services: Vec<Option<String>> =
            decision.services.split_whitespace().map(|service| Some(plain(service))).collect();
        if services.is_empty() {
            services.push(None);
        }
        entries.extend(services.into_iter().map(|service| Entry {
            at,
            service,
            kind,
            what: plain(&format!("{}{}", decision.actions, by(decision.agent.as_ref()))),
            why: plain(&decision.reason),
            decision: Some(decision.id),
        }));
    }
    for event in &data.events.rows {
        let (Some(at), Some(healthy)) = (event.at, verification(&event.message)) else { continue };
        entries.push(Entry {
            at,
            service: event.service.as_deref().map(plain),
            kind: if healthy { Kind::Healthy } else { Kind::Unhealthy },
            what: plain(&event.message),
            why: String::new(),
            decision: None,
        });
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.at));
    entries
}
