//! The audit in the formats of other programs.

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::verbs::terminal::Text;
use opsctl_ledger::records::decisions::Decision;
use opsctl_policy::model::display::relative_time::timestamp;

/// A format of the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object in a line
    Jsonl,
    /// Comma-separated values (RFC 4180), with a line of names
    Csv,
    /// Process Activity of the Open Cybersecurity Schema Framework 1.3, one event in a line
    Ocsf,
}

/// The names of the columns.
const COLUMNS: [&str; 15] = [
    "id", "at", "verdict", "rules", "tier", "session", "agent", "person", "hosts", "services", "effect",
    "command", "budgets", "reason", "undo",
];

impl Format {
    /// The line before all others, if there is one.
    pub fn header(self) -> Option<Text> {
        (self == Self::Csv).then(|| Text::diff(&(COLUMNS.join(",") + "\r\n")))
    }

    /// The line of a decision.
    pub fn line(self, decision: &Decision) -> serde_json::Result<Text> {
        let mut line = match self {
            Self::Jsonl => Text::json(decision)?,
            Self::Ocsf => Text::json(&ocsf(decision))?,
            Self::Csv => {
                return Ok(Text::diff(&(cells(decision).map(|cell| field(&cell)).join(",") + "\r\n")));
            }
        };
        line += "\n";
        Ok(line)
    }
}

fn cells(decision: &Decision) -> [String; COLUMNS.len()] {
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    [
        decision.id.to_string(),
        decision.at.map(timestamp).unwrap_or_default(),
        decision.verdict.clone(),
        decision.rule.clone(),
        decision.tier.map(|tier| tier.to_string()).unwrap_or_default(),
        of(&decision.session),
        of(&decision.agent),
        of(&decision.person),
        decision.hosts.clone(),
        decision.services.clone(),
        of(&decision.effect),
        decision.command.clone(),
        decision.budgets.clone(),
        decision.reason.clone(),
        of(&decision.undo),
    ]
}

/// A value of a CSV file. One that a spreadsheet would run as a formula begins with an apostrophe.
fn field(text: &str) -> String {
    let text =
        if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// An event of the class Process Activity: a command that was launched, or denied.
fn ocsf(decision: &Decision) -> Value {
    let is_denied = matches!(decision.verdict.as_str(), "deny" | "fail-closed");
    let (action, disposition) = if is_denied { (2, 2) } else { (1, 1) };
    let user = decision.person.as_ref().or(decision.agent.as_ref());
    json!({
        "class_uid": 1007,
        "class_name": "Process Activity",
        "category_uid": 1,
        "category_name": "System Activity",
        "activity_id": 1,
        "activity_name": "Launch",
        "type_uid": 100_701,
        "time": decision.at.map(|at| at.timestamp_millis()),
        "severity_id": if is_denied { 3 } else { 1 },
        "status_id": if is_denied { 2 } else { 1 },
        "status_detail": decision.reason,
        "action_id": action,
        "disposition_id": disposition,
        "message": format!("{}: {}", decision.verdict, decision.command),
        "metadata": {
            "version": "1.3.0",
            "uid": decision.id.to_string(),
            "product": {"name": "opsctl", "vendor_name": "opsctl", "version": env!("CARGO_PKG_VERSION")},
            "profiles": ["security_control"],
        },
        "actor": {"user": {"name": user}, "session": {"uid": decision.session}},
        "device": {"hostname": decision.hosts, "type_id": 1},
        "process": {"cmd_line": decision.command},
        "unmapped": {
            "tier": decision.tier,
            "rules": decision.rule,
            "services": decision.services,
            "effect": decision.effect,
            "budgets": decision.budgets,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_csv_field_is_quoted_and_runs_no_formula() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a,\"b\"\nc"), "\"a,\"\"b\"\"\nc\"");
        assert_eq!(field("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(field("-1,2"), "\"'-1,2\"");
    }
}
