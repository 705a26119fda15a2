//! The report: one HTML page from [`ReportData`], or its sections for another page. The caller writes the file.

mod budgets;
mod data;
pub mod denials;
pub mod digest;
pub mod file;
pub mod filter;
pub mod format;
mod services;
pub mod sessions;
mod timeline;

use chrono::{DateTime, Utc};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::{Value as Json, json};

use crate::pages::attention::Attention;
pub use data::{Extent, ReportData};
use format::{dollars, grouped, plain, shown, with};
use opsctl_ledger::Event;
use opsctl_ledger::records::decisions::{Decision, most_first};
use opsctl_policy::model::rights::policy::Tier;
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

/// The maximum number of rows in the table of what can be undone; further ones are counted.
const MOST_UNDO: usize = 12;

/// The maximum number of listed events and failures of the guard; further ones are counted.
const MOST_EVENTS: usize = 30;
const MOST_FAILURES: usize = 10;

/// Renders the page. An error is a bug in a template.
pub fn page(data: &ReportData<'_>) -> Result<String, minijinja::Error> {
    let several = data.agents.len() > 1;
    let links = json!({ "service": "#service-", "host": "#host-", "session": null, "rule": null, "denials": null, "several": several });
    let links = json!({ "links": links });
    let body = render("page.html", with(view(data, &data.attention()), links), data.now)?;
    Ok(plain_lines(&format!("{MARK}{body}")))
}

/// Renders the sections of the page. `links` are the beginnings of addresses: what a page shows of a `service`, a `host`, a
/// `session` or a `rule`, and all `denials`; `several`: whether there are several agents. An error is a bug in a template.
pub fn sections(data: &ReportData<'_>, links: &Json) -> Result<Sections, minijinja::Error> {
    let attention = data.attention();
    let html = plain_lines(&render(
        "sections.html",
        with(view(data, &attention), json!({ "links": links })),
        data.now,
    )?);
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
    let active = sessions::active(data);
    let host_of_service = |service: &str| filter::host_of(&data.installation.inventory, service).map(plain);
    json!({
        "domain": shown(&data.installation.inventory.domain),
        "tier": data.tier.map(Tier::number),
        // The agent whose rows are shown.
        "agent": shown(&data.filter.agent),
        // Whether the ledger has several agents.
        "several": data.agents.len() > 1,
        "made": now,
        "since": since,
        "until": data.until(),
        "span": format::span(data.until() - since),
        "dry_run": data.dry_run,
        "attention": attention,
        "figures": figures(&entries, &active, data),
        "services": services::services(data, &entries),
        "timeline": timeline::timeline(entries, (since, data.until()), data.extent.of_service, &host_of_service),
        "budgets": budgets::budgets(data),
        "denials": denials::denials(&data.denials, &data.installation.inventory, data.extent.denials),
        "watched": denials::denials(&data.watched, &data.installation.inventory, data.extent.denials),
        "monitor": data.installation.policy.monitor.everything,
        "undo": undo(data),
        "sessions": sessions::sessions(data, &active),
        "choices": choices(data, &active),
        "decisions": decisions(data),
        "events": events(data),
        "left_out": left_out(data),
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// What can be undone: the states before actions of the period, and the commands that return to them.
fn undo(data: &ReportData<'_>) -> Json {
    let changed: Vec<&Decision> =
        data.decisions.rows.iter().filter(|decision| decision.undo.is_some()).collect();
    json!({
        "rows": shown(changed.iter().take(MOST_UNDO).collect::<Vec<_>>()),
        "more": changed.len().saturating_sub(MOST_UNDO),
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
    let host =
        |event: &Event| filter::host_of(&data.installation.inventory, event.service.as_deref()?).map(plain);
    let row = |event: &Event| with(shown(event), json!({ "host": host(event) }));
    json!({
        "rows": events.iter().take(MOST_EVENTS).map(row).collect::<Vec<_>>(),
        "more": events.len().saturating_sub(MOST_EVENTS),
    })
}

/// The figures at the top, and of each how many of its parts are a problem.
fn figures(entries: &[timeline::Entry], active: &[sessions::Active<'_>], data: &ReportData<'_>) -> Json {
    use timeline::Kind::{Denied, Done, Failed, Healthy, Unchecked, Unhealthy};
    let of = |kind| entries.iter().filter(|entry| entry.kind == kind).count();
    let figure = |label, value: usize, bad: usize, of_bad| json!({ "label": label, "value": grouped(value), "bad": bad, "of_bad": of_bad });
    let denied: std::collections::BTreeSet<i64> =
        entries.iter().filter(|entry| entry.kind == Denied).filter_map(|entry| entry.decision).collect();
    json!([
        figure("actions", of(Done) + of(Failed), of(Failed), "failed"),
        figure("denials", denied.len(), of(Unchecked), "ran unchecked"),
        figure("verifications", of(Healthy) + of(Unhealthy), of(Unhealthy), "unhealthy"),
        figure("sessions", active.len(), sessions::incomplete(data), "not completed"),
        { "label": "spent", "value": dollars(sessions::cost(data)), "bad": 0 },
    ])
}

/// The filters of the page, which need no script: each is a link to a part of the address. Of each: its id, its name, and what
/// its rows are marked with.
fn choices(data: &ReportData<'_>, active: &[sessions::Active<'_>]) -> Json {
    const MOST: usize = 40;
    const MOST_SESSIONS: usize = 12;
    let inventory = &data.installation.inventory;
    let is_plain = |name: &&str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let of = |kind: &str, on: &str, before: &str, names: Vec<&str>| -> Vec<Json> {
        let names = names.into_iter().filter(is_plain).take(MOST);
        let choice = |name: &str| json!({ "id": format!("{kind}-{name}"), "name": plain(name), "on": on, "mark": format!("{before}{name}") });
        names.map(choice).collect()
    };
    json!({
        "hosts": of("host", "data-f", "h:", inventory.hosts.iter().map(|host| host.name.as_str()).collect()),
        "services": of("service", "data-f", "s:", inventory.services.iter().map(|service| service.name.as_str()).collect()),
        "sessions": of("session", "data-x", "", active.iter().take(MOST_SESSIONS).map(sessions::Active::id).collect()),
        "tiers": of("tier", "data-t", "", vec!["1", "2", "3"]),
    })
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
        ("services.html", include_str!("../../../templates/report/services.html.j2")),
        ("denials.html", include_str!("../../../templates/report/denials.html.j2")),
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
