//! The report: one HTML page from [`ReportData`], or its sections for another page. The caller writes the file.

mod attention;
mod budgets;
mod data;
mod decisions;
pub mod digest;
mod events;
pub mod file;
pub mod format;
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
pub use data::{MOST_ROWS, ReportData};
use format::{Moment, count, grouped};

/// The beginning of every report, by which an earlier one is recognised before it is replaced.
pub const MARK: &str = "<!doctype html>\n<!-- opsctl report -->\n";

/// The style sheet of the page.
pub const STYLE: &str = include_str!("../../templates/report/style.css");

/// The sections of the report, for a page that has a head of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sections {
    /// How much needs attention, as a heading.
    pub headline: String,
    /// Whether nothing needs attention.
    pub is_calm: bool,
    /// The sections as HTML, in which all values are escaped.
    pub html: String,
}

/// The data for the templates.
#[derive(Serialize)]
struct Page<'a> {
    domain: Option<String>,
    tier: Option<u8>,
    /// The agent whose rows are shown.
    agent: Option<String>,
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
    let body = render("page.html", &Page::of(data))?;
    Ok(plain_lines(&format!("{MARK}{body}")))
}

/// Renders the sections of the page. An error is a bug in a template.
pub fn sections(data: &ReportData<'_>) -> Result<Sections, minijinja::Error> {
    let page = Page::of(data);
    let html = plain_lines(&render("sections.html", &page)?);
    Ok(Sections { headline: page.attention.headline, is_calm: page.attention.calm, html })
}

/// Renders a template with a view, without secrets. An error is a bug in the template.
fn render(template: &str, view: &impl Serialize) -> Result<String, minijinja::Error> {
    let mut view = serde_json::to_value(view)
        .map_err(|error| minijinja::Error::new(minijinja::ErrorKind::BadSerialization, error.to_string()))?;
    redact::json(&mut view);
    templates()?.get_template(template)?.render(Value::from(Serde(&view)))
}

impl Page<'_> {
    fn of(data: &ReportData<'_>) -> Self {
        let ReportData { now, since, .. } = *data;
        let entries = timeline::entries(data);
        let sessions = sessions::SessionsView::of(data);
        Self {
            domain: data.installation.inventory.domain.as_deref().map(format::plain),
            tier: data.tier.map(Tier::number),
            agent: data.agent.as_deref().map(format::plain),
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

/// The template engine with the templates of the report: escapes all values, and fails on undefined ones.
pub fn templates() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::Html);
    templates.set_syntax(
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?,
    );
    for (name, text) in [
        ("page.html", include_str!("../../templates/report/page.html.j2")),
        ("sections.html", include_str!("../../templates/report/sections.html.j2")),
        ("parts.html", include_str!("../../templates/report/parts.html.j2")),
        ("timeline.html", include_str!("../../templates/report/timeline.html.j2")),
        ("budgets.html", include_str!("../../templates/report/budgets.html.j2")),
        ("sessions.html", include_str!("../../templates/report/sessions.html.j2")),
        ("style.css", STYLE),
    ] {
        templates.add_template(name, text)?;
    }
    Ok(templates)
}
