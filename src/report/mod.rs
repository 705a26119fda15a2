//! The report: one HTML page from [`ReportData`]. The caller reads the data and writes the file.

mod attention;
mod budgets;
mod data;
mod decisions;
pub mod digest;
mod events;
pub mod file;
mod format;
mod hosts;
mod sessions;
mod timeline;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use crate::model::plain_text::plain_lines;
use crate::model::policy::Tier;
use crate::redact;
pub use data::ReportData;
use format::{Moment, count, grouped};

/// The beginning of every report, by which an earlier one is recognised before it is replaced.
pub const MARK: &str = "<!doctype html>\n<!-- opsctl report -->\n";

/// The maximum number of rows of one kind that are read for a report.
pub const MOST_ROWS: u32 = 20_000;

/// The data for the templates.
#[derive(Serialize)]
struct Page<'a> {
    domain: Option<String>,
    tier: Option<u8>,
    made: Moment,
    since: Moment,
    span: String,
    attention: attention::AttentionView,
    figures: [Figure; 5],
    timeline: timeline::TimelineView,
    budgets: budgets::BudgetsView,
    hosts: Option<hosts::HostsView>,
    sessions: sessions::SessionsView,
    decisions: decisions::DecisionsView,
    events: events::EventsView,
    left_out: Vec<String>,
    version: &'a str,
}

/// One of the figures at the top.
#[derive(Serialize)]
struct Figure {
    value: String,
    label: &'static str,
    note: String,
    bad: bool,
}

/// Renders the page. An error is a bug in a template.
pub fn page(data: &ReportData<'_>) -> Result<String, minijinja::Error> {
    let mut view = serde_json::to_value(Page::of(data))
        .map_err(|error| minijinja::Error::new(minijinja::ErrorKind::BadSerialization, error.to_string()))?;
    redact::json(&mut view);
    let body = templates()?.get_template("page.html")?.render(Value::from(Serde(&view)))?;
    Ok(plain_lines(&format!("{MARK}{body}")))
}

impl Page<'_> {
    fn of(data: &ReportData<'_>) -> Self {
        let ReportData { now, since, .. } = *data;
        let entries = timeline::entries(data);
        let sessions = sessions::SessionsView::of(data);
        Self {
            domain: data.installation.inventory.domain.as_deref().map(format::plain),
            tier: data.tier.map(Tier::number),
            made: Moment::of(now, now),
            since: Moment::of(since, now),
            span: format::span(now - since),
            attention: attention::AttentionView::of(data),
            figures: figures(&entries, &sessions),
            timeline: timeline::TimelineView::of(entries, since, now),
            budgets: budgets::BudgetsView::of(data),
            hosts: data.hosts.as_deref().filter(|hosts| !hosts.is_empty()).map(hosts::HostsView::of),
            sessions,
            decisions: decisions::DecisionsView::of(data),
            events: events::EventsView::of(data),
            left_out: left_out(data),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

fn figures(entries: &[timeline::Entry], sessions: &sessions::SessionsView) -> [Figure; 5] {
    use timeline::Kind::{Denied, Done, Failed, Healthy, Unchecked, Unhealthy};
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
        figure("denials", denied.len(), of(Unchecked), "ran unchecked"),
        figure("verifications", of(Healthy) + of(Unhealthy), of(Unhealthy), "unhealthy"),
        figure("sessions", sessions.count, sessions.incomplete, "not completed"),
        Figure { value: sessions.cost.clone(), label: "spent", note: String::new(), bad: false },
    ]
}

/// Notes about kinds of rows of which only the latest were read.
fn left_out(data: &ReportData<'_>) -> Vec<String> {
    let cut = [
        (data.actions.cut, "actions"),
        (data.decisions.cut, "decisions"),
        (data.events.cut, "events"),
        (data.runs.cut, "sessions"),
    ];
    cut.into_iter()
        .filter(|(cut, _)| *cut)
        .map(|(_, what)| format!("Only the latest {} were read.", count(MOST_ROWS as usize, what, what)))
        .collect()
}

/// The template engine: escapes all values, and fails on undefined ones.
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
