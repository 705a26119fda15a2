//! The progress of a session on the terminal, one short line per event.

use super::stream::{Said, ToolOutcome};

/// The maximum length of a line, in characters.
const LONGEST: usize = 200;

/// The line for an event.
pub fn line(said: &Said) -> String {
    match said {
        Said::Text(text) => format!("  {}", short(text)),
        Said::ToolCall(tool, input) => format!("  {tool}: {}", short(input)),
        Said::ToolResult(ToolOutcome::Ok) => "    ok".to_owned(),
        Said::ToolResult(ToolOutcome::Denied(why)) => format!("    denied: {}", short(why)),
        Said::ToolResult(ToolOutcome::Failed(why)) => format!("    failed: {}", short(why)),
        Said::End(account) if account.is_error => format!("  the client gave up: {}", short(&account.words)),
        Said::End(_) => String::new(),
    }
}

/// The text without secrets, its lines joined, truncated to [`LONGEST`].
pub fn short(text: &str) -> String {
    let mut words = opsctl_redact::text(text).split_whitespace().collect::<Vec<_>>().join(" ");
    words.retain(|c| !c.is_control());
    if words.chars().count() > LONGEST {
        words = words.chars().take(LONGEST - 1).collect::<String>() + "…";
    }
    words
}
