//! The report: one HTML page from [`ReportData`], or its sections for another page. The caller writes the file.

mod budgets;
mod data;
pub mod digest;
pub mod file;
pub mod format;
mod sessions;
mod timeline;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::{Value as Json, json};

pub use data::{Extent, ReportData};

use crate::pages::attention::Attention;
use format::{dollars, grouped, shown};
use opsctl_ledger::records::decisions::{Decision, most_first};
use opsctl_policy::model::rights::policy::Tier;
use opsctl_probe::hosts::PingedHost;
use opsctl_reader::terms::plain_text::plain_lines;

/// The beginning of every report, by which an earlier one is recognised before it is replaced.
pub const MARK: &str = "<!doctype html>\n<!-- opsctl report -->\n";

/// The style sheet of the page.
pub const STYLE: &str = include_str!("../../../templates/report/style.css");

/// The sections of the report, for a page that has a head of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sections {
    /// How much needs attention, as a heading.
    pub headline: String,
    /// `calm`, `alert`, or `unseen`: nothing needs attention as far as is known.
    pub look: &'static str,
    /// The sections as HTML, in which all values are escaped.
    pub html: String,
}

/// The maximum number of listed hosts, events and failures of the guard; further ones are counted.
const MOST_HOSTS: usize = 120;
const MOST_EVENTS: usize = 100;
const MOST_FAILURES: usize = 10;

/// Renders the page. An error is a bug in a template.
pub fn page(data: &ReportData<'_>) -> Result<String, minijinja::Error> {
    let body = render("page.html", view(data, &data.attention()), data.now)?;
    Ok(plain_lines(&format!("{MARK}{body}")))
}

/// Renders the sections of the page. An error is a bug in a template.
pub fn sections(data: &ReportData<'_>) -> Result<Sections, minijinja::Error> {
    let attention = data.attention();
    let html = plain_lines(&render("sections.html", view(data, &attention), data.now)?);
    Ok(Sections { headline: attention.headline, look: attention.look, html })
}

/// Renders a template with a view, without secrets. An error is a bug in the template.
fn render(template: &str, mut view: Json, now: DateTime<Utc>) -> Result<String, minijinja::Error> {
    opsctl_redact::json(&mut view);
    templates(now)?.get_template(template)?.render(Value::from(Serde(&view)))
}

/// The data for the templates.
fn view(data: &ReportData<'_>, attention: &Attention) -> Json {
    let ReportData { now, since, .. } = *data;
    let entries = timeline::entries(data);
    json!({
        "domain": shown(&data.installation.inventory.domain),
        "tier": data.tier.map(Tier::number),
        // The agent whose rows are shown.
        "agent": shown(&data.agent),
        // Whether the ledger has several agents.
        "several": data.agents.len() > 1,
        "made": now,
        "since": since,
        "span": format::span(now - since),
        "dry_run": data.dry_run,
        "attention": attention,
        "figures": figures(&entries, data),
        "timeline": timeline::timeline(entries, since, now, data.extent.of_service),
        "budgets": budgets::budgets(data),
        "hosts": data.hosts.as_deref().filter(|hosts| !hosts.is_empty()).map(hosts),
        "sessions": sessions::sessions(data),
        "decisions": decisions(data),
        "events": events(data),
        "left_out": left_out(data),
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// The reachability of hosts, unreachable ones first.
fn hosts(found: &[PingedHost]) -> Json {
    const ORDER: [&str; 4] = ["unreachable", "unresolved", "unknown", "reachable"];
    let mut found: Vec<&PingedHost> = found.iter().collect();
    found.sort_by_key(|host| ORDER.iter().position(|state| *state == host.reachability.as_str()));
    let with = |state: &str| found.iter().filter(|host| host.reachability.as_str() == state).count();
    json!({
        "all": found.len(),
        "counts": ORDER.map(|state| (state, with(state))).into_iter().collect::<BTreeMap<_, _>>(),
        "hosts": shown(found.iter().take(MOST_HOSTS).collect::<Vec<_>>()),
        "more": found.len().saturating_sub(MOST_HOSTS),
    })
}

/// Decisions, rules, failures of the guard and hook durations.
fn decisions(data: &ReportData<'_>) -> Json {
    let failed = |decision: &&Decision| decision.verdict.starts_with("fail-");
    let failures: Vec<&Decision> = data.decisions.rows.iter().filter(failed).collect();
    json!({
        "verdicts": shown(most_first(&data.statistics.verdicts)),
        "rules": shown(most_first(&data.statistics.rules)),
        "hooks": shown(data.statistics.durations()),
        "failures": shown(failures.iter().take(MOST_FAILURES).collect::<Vec<_>>()),
        "more_failures": failures.len().saturating_sub(MOST_FAILURES),
        "waiting": data.guard_failures,
    })
}

fn events(data: &ReportData<'_>) -> Json {
    let events = &data.events.rows;
    json!({
        "rows": shown(events.iter().take(MOST_EVENTS).collect::<Vec<_>>()),
        "more": events.len().saturating_sub(MOST_EVENTS),
    })
}

/// The figures at the top, and of each how many of its parts are a problem.
fn figures(entries: &[timeline::Entry], data: &ReportData<'_>) -> Json {
    use timeline::Kind::{Denied, Done, Failed, Healthy, Unchecked, Unhealthy};
    let of = |kind| entries.iter().filter(|entry| entry.kind == kind).count();
    let figure = |label, value: usize, bad: usize, of_bad| json!({ "label": label, "value": grouped(value), "bad": bad, "of_bad": of_bad });
    let denied: std::collections::BTreeSet<i64> =
        entries.iter().filter(|entry| entry.kind == Denied).filter_map(|entry| entry.decision).collect();
    json!([
        figure("actions", of(Done) + of(Failed), of(Failed), "failed"),
        figure("denials", denied.len(), of(Unchecked), "ran unchecked"),
        figure("verifications", of(Healthy) + of(Unhealthy), of(Unhealthy), "unhealthy"),
        figure("sessions", data.runs.rows.len(), sessions::incomplete(data), "not completed"),
        { "label": "spent", "value": dollars(sessions::cost(data)), "bad": 0 },
    ])
}

/// The kinds of rows of which only the latest were read.
fn left_out(data: &ReportData<'_>) -> Json {
    let cut = [
        (data.actions.cut, "actions"),
        (data.decisions.cut, "decisions"),
        (data.events.cut, "events"),
        (data.runs.cut, "sessions"),
    ];
    let cut = cut.into_iter().filter(|(cut, _)| *cut).map(|(_, what)| what);
    json!({ "most": data.extent.rows, "kinds": cut.collect::<Vec<_>>() })
}

/// A template engine that fails on undefined values. Relative times are as of `now`.
pub fn engine(now: DateTime<Utc>) -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    format::add_filters(&mut templates, now);
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_syntax(
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?,
    );
    Ok(templates)
}

/// The engine with the templates of the report: escapes all values.
pub fn templates(now: DateTime<Utc>) -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = engine(now)?;
    templates.set_auto_escape_callback(|_| AutoEscape::Html);
    for (name, text) in [
        ("page.html", include_str!("../../../templates/report/page.html.j2")),
        ("sections.html", include_str!("../../../templates/report/sections.html.j2")),
        ("parts.html", include_str!("../../../templates/report/parts.html.j2")),
        ("timeline.html", include_str!("../../../templates/report/timeline.html.j2")),
        ("budgets.html", include_str!("../../../templates/report/budgets.html.j2")),
        ("sessions.html", include_str!("../../../templates/report/sessions.html.j2")),
        ("style.css", STYLE),
    ] {
        templates.add_template(name, text)?;
    }
    Ok(templates)
}
