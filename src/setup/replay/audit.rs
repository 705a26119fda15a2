//! Past calls from the audit.

use std::path::PathBuf;

use super::{PastCall, Recorded};
use opsctl_ledger::records::decisions::{Decision, OPERATOR};
use opsctl_policy::model::records::event::{McpCall, ToolCall, ToolFile};
use opsctl_policy::model::rights::policy::Tier;

/// The beginning of what follows a command that runs scripts.
const RUNS: &str = "\n\nruns:\n";

/// The end of a command that was too long to be recorded whole.
const CUT: &str = " more characters)";

/// The call of a decision; `None` for what a person has done, and where the record has no whole command.
pub fn call_of(decision: &Decision) -> Option<PastCall> {
    let command = decision.command.split(RUNS).next().unwrap_or_default();
    if decision.verdict == OPERATOR || command.trim().is_empty() || command.ends_with(CUT) {
        return None;
    }
    let is_asked = decision.rule.split(' ').any(|rule| rule == "ask");
    Some(PastCall {
        at: decision.at?,
        tier: decision.tier.and_then(Tier::from_number),
        tool: tool(command),
        cwd: None::<PathBuf>,
        shown: opsctl_redact::shortened(command, 200),
        recorded: Some(Recorded {
            denied: matches!(decision.verdict.as_str(), "deny" | "fail-closed"),
            asked: is_asked,
            rules: decision.rule.clone(),
        }),
    })
}

/// The tool call that was recorded as this text.
fn tool(text: &str) -> ToolCall {
    let file = |path: &str, writes| ToolCall {
        files: vec![ToolFile { path: path.to_owned(), writes, search: None }],
        ..ToolCall::default()
    };
    if let Some(path) = text.strip_prefix("read ").filter(|path| path.starts_with('/')) {
        return file(path, false);
    }
    if let Some(path) = text.strip_prefix("write ").filter(|path| path.starts_with('/')) {
        return file(path, true);
    }
    if text.starts_with("mcp__") {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let arguments = rest.split(' ').filter_map(|pair| pair.split_once('='));
        let arguments = arguments.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mcp = McpCall { tool: name.to_owned(), arguments, ..McpCall::default() };
        return ToolCall { mcp: Some(mcp), ..ToolCall::default() };
    }
    ToolCall { command: Some(text.to_owned()), ..ToolCall::default() }
}
