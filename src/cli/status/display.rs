//! Formats the status as coloured text.

use anstyle::{AnsiColor, Style};

use super::overview::Status;
use crate::cli::approvals::granted;
use crate::cli::terminal::{cut, wrap};
use crate::cli::text::{self, Text};
use crate::cli::{events, time};
use crate::guard::budgets::{KindBudget, ServiceBudget};
use crate::guard::spending::Line;
use crate::ledger::Lease;
use crate::ledger::client_runs::Run;
use crate::ledger::notices::Problem;
use crate::model::question::Question;
use crate::probe::hosts::Found;
use crate::probe::icmp::Reachability;

/// The maximum number of listed services without usage, and of listed reachable hosts; beyond it they are counted.
const MOST_IDLE: usize = 12;

const TITLE: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default();
const CRITICAL: Style = AnsiColor::Red.on_default().bold();
const QUIET: Style = Style::new().dimmed();

/// Formats the status for a terminal of this width; `None` for any width.
pub fn render(status: &Status, width: Option<usize>) -> Text {
    let page = Page { width };
    let mut text = match status.tier {
        Some(tier) => Text::from_iter([Text::styled(TITLE, "tier:"), (&format!(" {tier}\n")).into()]),
        None => "no tier set; budgets are enforced\n".into(),
    };
    if !status.questions.is_empty() {
        text += page.title("questions that wait for an answer:");
        text.extend(status.questions.iter().map(|question| page.whole(CRITICAL, &asked(question, status))));
    }
    let attention = attention(status);
    if !attention.is_empty() {
        text += page.title("needs attention:");
        text.extend(attention.iter().map(|line| page.whole(CRITICAL, line)));
    }
    text += page.title("budgets:");
    let (listed, others): (Vec<&ServiceBudget>, Vec<&ServiceBudget>) =
        status.services.iter().partition(|budget| budget.listed);
    text += page.budgets(&listed, status);
    if !others.is_empty() {
        text += page.title("budgets of services that hosts.yaml does not list:");
        text += page.budgets(&others, status);
    }
    if !status.leases.is_empty() {
        text += page.title("services that one agent is remediating:");
        text.extend(status.leases.iter().map(|lease| page.whole(WARNING, &leased(lease, status))));
    }
    for grant in &status.grants {
        text += page.whole(WARNING, &granted(grant, status.now));
    }
    if let Some(hosts) = status.hosts.as_deref().filter(|hosts| !hosts.is_empty()) {
        text += page.title("hosts:");
        text += page.hosts(hosts);
    }
    if !status.sessions.is_empty() {
        text += page.title("sessions:");
        text += page.sessions(status);
    }
    let spending = status.spend.lines();
    if !spending.is_empty() {
        text += page.title("requests to the model:");
        text.extend(spending.iter().map(|line| page.spending(line)));
    }
    text += page.title("events:");
    match &status.missing_ledger {
        Some(path) => {
            text += page.whole(QUIET, &format!("no events: there is no ledger at {path} yet"));
        }
        None if status.events.is_empty() => text += page.line(QUIET, "no events"),
        None => {}
    }
    for event in &status.events {
        let style = match event.level.as_str() {
            "critical" => CRITICAL,
            "warning" => WARNING,
            _ => QUIET,
        };
        let [at, level, service, message] = events::cells(event, false, status.now);
        let by = if status.several { event.agent.as_deref().unwrap_or("-") } else { "" };
        let by = if by.is_empty() { String::new() } else { format!("{by} | ") };
        text += page.line(style, &text::line(&format!("{at} | {by}{level} | {service} | {message}")));
    }
    text
}

/// `jellyfin: agent nas, until 2026-03-21T14:52:00Z (in 22m)`.
fn leased(lease: &Lease, status: &Status) -> String {
    let Lease { service, agent, until, .. } = lease;
    let (at, left) = (time::timestamp(*until), time::relative_time(*until - status.now));
    text::line(&format!("{service}: agent {agent}, until {at} ({left})"))
}

/// `agent nas | `, where the ledger has several agents.
fn by(agent: Option<&String>, status: &Status) -> String {
    agent.filter(|_| status.several).map(|agent| format!("agent {agent} | ")).unwrap_or_default()
}

/// `3 | docker restart jellyfin | open for 29m more | opsctl approve 3`.
fn asked(question: &Question, status: &Status) -> String {
    let Question { id, command, expires_at, agent, .. } = question;
    let by = text::line(&by(agent.as_ref(), status));
    let command = text::line(command.lines().next().unwrap_or_default());
    let until = time::relative_time(*expires_at - status.now);
    format!("{id} | {by}{command} | expires {until} | `opsctl approve {id}` or `opsctl refuse {id}`")
}

/// What needs attention, one line each.
fn attention(status: &Status) -> Vec<String> {
    let Status { guard_failures_last_day: unchecked, undelivered_notifications: undelivered, .. } = status;
    let mut lines: Vec<String> = status
        .problems
        .iter()
        .map(|Problem { title, at, agent }| {
            let by = by(agent.as_ref(), status);
            format!("{} | {}", time::shown(*at, false, status.now), text::line(&format!("{by}{title}")))
        })
        .collect();
    if status.guard_failures > 0 {
        lines.push(format!("guard failures that are not recorded yet: {}", status.guard_failures));
    }
    if *unchecked > 0 {
        lines.push(format!(
            "commands of the last day that could not be checked: {unchecked}; `opsctl audit --rule on_failure` lists them"
        ));
    }
    if *undelivered > 0 {
        lines.push(format!("notifications not delivered: {undelivered}; `opsctl notify` shows why"));
    }
    lines
}

/// The page that is formatted.
struct Page {
    width: Option<usize>,
}

impl Page {
    fn title(&self, title: &str) -> Text {
        let mut text = Text::from("\n");
        text += styled(TITLE, &cut(title, self.width));
        text
    }

    /// A line, truncated to the width.
    fn line(&self, style: Style, line: &str) -> Text {
        styled(style, &cut(&format!("  {line}"), self.width))
    }

    /// A line, wrapped to the width.
    fn whole(&self, style: Style, line: &str) -> Text {
        let lines = wrap(&format!("  {line}"), self.width);
        lines.iter().map(|line| styled(style, line)).collect()
    }

    fn budgets(&self, budgets: &[&ServiceBudget], status: &Status) -> Text {
        let (used, idle): (Vec<&ServiceBudget>, Vec<&ServiceBudget>) =
            budgets.iter().partition(|budget| budget.in_use());
        let mut text = Text::default();
        for budget in used {
            let style = if budget.cooldown_until().is_some() { CRITICAL } else { WARNING };
            text += self.whole(style, &text::line(&budget_in_words(budget, status)));
        }
        let shown = if idle.len() > MOST_IDLE { 0 } else { idle.len() };
        for budget in idle.iter().take(shown) {
            text += self.whole(GOOD, &text::line(&budget.in_words()));
        }
        if let Some(budget) = idle.get(shown) {
            let more = if text.as_str().is_empty() { "" } else { "more " };
            text += self.whole(
                GOOD,
                &format!("{} {more}services without usage: {} each", idle.len(), budget.idle_in_words()),
            );
        }
        text
    }

    fn spending(&self, line: &Line) -> Text {
        let style = match (line.is_near, line.is_reached) {
            (_, true) => CRITICAL,
            (true, false) => WARNING,
            (false, false) => QUIET,
        };
        self.whole(style, &text::line(&line.text))
    }

    /// The hosts, unreachable ones first.
    fn hosts(&self, hosts: &[Found]) -> Text {
        let line = |Found { name, address, reachability }: &Found| {
            let (style, rtt) = match reachability {
                Reachability::Reachable(rtt) => (GOOD, format!(" in {:.2} ms", rtt.as_secs_f64() * 1e3)),
                Reachability::Unknown => (WARNING, String::new()),
                Reachability::Unreachable | Reachability::Unresolved => (CRITICAL, String::new()),
            };
            let line = format!("{name} ({address}): {}{rtt}", reachability.as_str());
            self.line(style, &text::line(&line))
        };
        let (up, rest): (Vec<_>, Vec<_>) =
            hosts.iter().partition(|host| matches!(host.reachability, Reachability::Reachable(_)));
        let mut text: Text = rest.into_iter().map(line).collect();
        if up.len() > MOST_IDLE {
            let more = if text.as_str().is_empty() { "" } else { "more " };
            text += self.line(GOOD, &format!("{} {more}hosts: reachable", up.len()));
        } else {
            text.extend(up.into_iter().map(line));
        }
        text
    }

    fn sessions(&self, status: &Status) -> Text {
        let Status { sessions_last_day, cost_usd_last_day, .. } = status;
        let mut text = Text::default();
        for run in &status.sessions {
            let cut_off = run.is_cut_off(&status.policy, status.now);
            let style = match run.outcome.as_str() {
                "completed" => GOOD,
                "running" if !cut_off => QUIET,
                "waiting" => WARNING,
                _ => CRITICAL,
            };
            let outcome = if cut_off { "cut off".to_owned() } else { run.outcome.replace('_', " ") };
            text += self.line(style, &text::line(&session_in_words(run, &outcome, status)));
        }
        text +=
            self.line(QUIET, &format!("the last day: {sessions_last_day} sessions, ${cost_usd_last_day:.2}"));
        text
    }
}

/// `2/2 restarts (4h), 0/1 redeployments (24h); next restart 2026-03-21T18:00:00Z (in 3h59m)`.
fn budget_in_words(budget: &ServiceBudget, status: &Status) -> String {
    let used = |kind: &KindBudget| format!("{}/{}", kind.used, kind.limit);
    let ServiceBudget { restart, redeployment, .. } = budget;
    let service = budget.name();
    let mut words = format!(
        "{service}: {} restarts ({}), {} redeployments ({})",
        used(restart),
        restart.window,
        used(redeployment),
        redeployment.window
    );
    for (name, kind) in [("restart", restart), ("redeployment", redeployment)] {
        if let Some(next) = kind.next_allowed {
            let at = time::timestamp(next);
            words += &format!("; next {name} {at} ({})", time::relative_time(next - status.now));
        }
    }
    words
}

/// `2026-03-21T14:00:00Z | tier 1, haiku | completed | 12 turns, 41s | $0.03`.
fn session_in_words(run: &Run, outcome: &str, status: &Status) -> String {
    let at = time::shown(run.started_at, false, status.now);
    let mut words =
        format!("{at} | {}tier {}, {} | {outcome}", by(run.agent.as_ref(), status), run.tier, run.model);
    if let Some(turns) = run.turns {
        words += &format!(" | {turns} turns");
    }
    if let Some(took) = run.duration_ms {
        words += &format!(" | {}s", took / 1000);
    }
    if let Some(cost) = run.cost_usd {
        words += &format!(" | ${cost:.3}");
    }
    if run.is_stated {
        words += " | stated by the agent";
    }
    words
}

/// A line in a style.
fn styled(style: Style, line: &str) -> Text {
    let mut text = Text::styled(style, line);
    text += "\n";
    text
}
