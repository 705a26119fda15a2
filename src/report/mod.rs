//! The report: what is known at one moment, as one page for people. From values to text; who calls it looks and writes.

mod attention;
mod budgets;
mod decisions;
mod events;
pub mod file;
mod hosts;
mod sessions;
mod timeline;
mod words;

use chrono::{DateTime, Utc};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use crate::guard::budgets::ServiceBudget;
use crate::inventory::Installation;
use crate::ledger::Event;
use crate::ledger::client_runs::Run;
use crate::ledger::decisions::{Decision, Statistics};
use crate::ledger::history::{Deed, Period};
use crate::ledger::notices::Problem;
use crate::model::policy::Tier;
use crate::probe::hosts::Found;
use words::{Moment, count, grouped};

/// Every page begins so: what does not is no report, and is not overwritten by one.
pub const MARK: &str = "<!doctype html>\n<!-- opsctl report -->\n";

/// The rows of one kind that a page is made of. It holds fewer: what is beyond is counted.
pub const MOST_ROWS: u32 = 20_000;

/// What a page is made of.
#[derive(Debug)]
pub struct Material<'a> {
    /// When it is made: every distance in time is told from here.
    pub now: DateTime<Utc>,
    /// What happened before is not told.
    pub since: DateTime<Utc>,
    /// The tier that sessions are held to; `None`: none is named.
    pub tier: Option<Tier>,
    /// The services, hosts and limits.
    pub installation: &'a Installation,
    /// What the services have used, what matters first.
    pub budgets: Vec<ServiceBudget>,
    /// The hosts as they were found a moment ago; `None`: nobody has looked.
    pub hosts: Option<Vec<Found<'a>>>,
    /// What a person was called for within the last day.
    pub problems: Vec<Problem>,
    /// Notices of the last day that nobody has heard.
    pub undelivered: u32,
    /// Failures of the guard that wait for a ledger that can be written.
    pub guard_failures: usize,
    /// What has run.
    pub deeds: Period<Deed>,
    /// Decisions on commands that act.
    pub decisions: Period<Decision>,
    /// Events, whoever wrote them.
    pub events: Period<Event>,
    /// Sessions of the client.
    pub runs: Period<Run>,
    /// How long hooks took, and what rules objected to.
    pub statistics: Statistics,
}

/// What the templates see.
#[derive(Serialize)]
struct Page<'a> {
    domain: Option<String>,
    tier: Option<u8>,
    made: Moment,
    since: Moment,
    span: String,
    attention: attention::View,
    figures: [Figure; 5],
    timeline: timeline::View,
    budgets: budgets::View,
    hosts: Option<hosts::View>,
    sessions: sessions::View,
    decisions: decisions::View,
    events: events::View,
    left_out: Vec<String>,
    version: &'a str,
}

/// A number at the top.
#[derive(Serialize)]
struct Figure {
    value: String,
    label: &'static str,
    note: String,
    bad: bool,
}

/// Renders the page. An error is a defect of a template, which is part of this program.
pub fn page(material: &Material<'_>) -> Result<String, minijinja::Error> {
    let view = Page::of(material);
    let body = templates()?.get_template("page.html")?.render(Value::from(Serde(&view)))?;
    Ok(format!("{MARK}{body}"))
}

impl Page<'_> {
    fn of(material: &Material<'_>) -> Self {
        let Material { now, since, .. } = *material;
        let entries = timeline::entries(material);
        let sessions = sessions::View::of(material);
        Self {
            domain: material.installation.inventory.domain.as_deref().map(words::plain),
            tier: material.tier.map(Tier::number),
            made: Moment::of(now, now),
            since: Moment::of(since, now),
            span: words::span(now - since),
            attention: attention::View::of(material),
            figures: figures(&entries, &sessions),
            timeline: timeline::View::of(entries, since, now),
            budgets: budgets::View::of(material),
            hosts: material.hosts.as_deref().filter(|hosts| !hosts.is_empty()).map(hosts::View::of),
            sessions,
            decisions: decisions::View::of(material),
            events: events::View::of(material),
            left_out: left_out(material),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

fn figures(entries: &[timeline::Entry], sessions: &sessions::View) -> [Figure; 5] {
    use timeline::Kind::{Denied, Done, Failed, Healthy, Unhealthy, Unjudged};
    let of = |kind| entries.iter().filter(|entry| entry.kind == kind).count();
    let figure = |label, value: usize, bad: usize, of_bad: &str| Figure {
        value: grouped(value),
        label,
        note: if bad > 0 { format!("{bad} {of_bad}") } else { String::new() },
        bad: bad > 0,
    };
    let denied: std::collections::BTreeSet<i64> =
        entries.iter().filter(|entry| entry.kind == Denied).filter_map(|entry| entry.decision).collect();
    [
        figure("actions", of(Done) + of(Failed), of(Failed), "failed"),
        figure("denials", denied.len(), of(Unjudged), "let through unjudged"),
        figure("verifications", of(Healthy) + of(Unhealthy), of(Unhealthy), "unhealthy"),
        figure("sessions", sessions.count, sessions.incomplete, "not completed"),
        Figure { value: sessions.cost.clone(), label: "spent", note: String::new(), bad: false },
    ]
}

/// What the ledger holds of the period and the page does not.
fn left_out(material: &Material<'_>) -> Vec<String> {
    let cut = [
        (material.deeds.cut, "actions"),
        (material.decisions.cut, "decisions"),
        (material.events.cut, "events"),
        (material.runs.cut, "sessions"),
    ];
    cut.into_iter()
        .filter(|(cut, _)| *cut)
        .map(|(_, what)| format!("Only the latest {} were read.", count(MOST_ROWS as usize, what, what)))
        .collect()
}

/// All text is escaped, wherever it comes from; nothing is taken for empty that is not there.
fn templates() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::Html);
    templates.set_syntax(
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?,
    );
    for (name, text) in [
        ("page.html", include_str!("../../templates/report/page.html.j2")),
        ("parts.html", include_str!("../../templates/report/parts.html.j2")),
        ("timeline.html", include_str!("../../templates/report/timeline.html.j2")),
        ("budgets.html", include_str!("../../templates/report/budgets.html.j2")),
        ("sessions.html", include_str!("../../templates/report/sessions.html.j2")),
        ("style.css", include_str!("../../templates/report/style.css")),
    ] {
        templates.add_template(name, text)?;
    }
    Ok(templates)
}
