//! Formats the status as coloured text: `templates/status.txt.j2` is what it states, this how it looks.

use anstyle::{AnsiColor, Style};
use minijinja::value::{Serde, Value};
use serde_json::json;

use super::overview::Status;
use crate::pages::report::{engine, format};
use crate::verbs::guarding::approvals::granted;
use crate::verbs::terminal::{Failure, Text, screen::cut, screen::wrap, text, time};
use opsctl_ledger::sessions::client_runs::Run;
use opsctl_policy::model::records::question::Question;

const TEMPLATE: &str = include_str!("../../../../templates/status.txt.j2");

const TITLE: Style = Style::new().bold();

/// Formats the status for a terminal of this width; `None` for any width.
pub fn render(status: &Status, width: Option<usize>) -> Result<Text, Failure> {
    let now = status.now;
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let question = |question: &Question| Question { command: first(&question.command), ..question.clone() };
    let run = |run: &Run| Run { outcome: run.outcome_in_words(&status.policy, now), ..run.clone() };
    let more = json!({
        "questions": status.questions.iter().map(question).collect::<Vec<_>>(),
        "sessions": status.sessions.iter().map(run).collect::<Vec<_>>(),
        "grants": status.grants.iter().map(|grant| granted(grant, now)).collect::<Vec<_>>(),
        "spending": status.spend.lines(),
        "missing_ledger": status.missing_ledger.as_ref().map(ToString::to_string),
        "several": status.several,
    });
    let mut view = format::with(serde_json::to_value(status)?, more);
    // Before a line is cut: a secret that is cut may not be recognised.
    format::for_texts(&mut view, &text::line);
    let mut engine = engine(now)?;
    engine.add_filter("local", |at: &str| time::localised(at));
    let page = engine.render_str(TEMPLATE, Value::from(Serde(&view)))?;
    let lines = page.lines().filter_map(|line| line.split_once('|'));
    Ok(lines.map(|(form, line)| formatted(form, line, width)).collect())
}

/// A line of the template in its form.
fn formatted(form: &str, line: &str, width: Option<usize>) -> Text {
    let mut text = Text::default();
    let (name, is_cut) = form.strip_suffix("-cut").map_or((form, false), |name| (name, true));
    let style = match name {
        "good" => AnsiColor::Green.on_default(),
        "warning" => AnsiColor::Yellow.on_default(),
        "critical" => AnsiColor::Red.on_default().bold(),
        "quiet" => Style::new().dimmed(),
        "tier" => {
            text += Text::styled(TITLE, "tier:");
            text += &format!(" {line}\n");
            return text;
        }
        "title" => {
            text += "\n";
            text += styled(TITLE, &cut(line, width));
            return text;
        }
        _ => return format!("{line}\n").as_str().into(),
    };
    let line = format!("  {line}");
    if is_cut {
        return styled(style, &cut(&line, width));
    }
    wrap(&line, width).iter().map(|line| styled(style, line)).collect()
}

/// A line in a style.
fn styled(style: Style, line: &str) -> Text {
    let mut text = Text::styled(style, line);
    text += "\n";
    text
}
