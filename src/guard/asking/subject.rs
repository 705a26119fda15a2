//! A call as a person is shown it.

use opsctl_policy::model::records::event::ToolCall;
use opsctl_reader::shell::Script;
use opsctl_redact::Redactor;

/// The longest text, in characters.
const CHARS: usize = 4_000;

/// The command as the agent wrote it, and what it runs where files of this machine decide that; for another tool, what it
/// opens or its arguments. Without `secrets` and others.
pub fn shown(tool: &ToolCall, script: &Script, secrets: &Redactor) -> String {
    let text = match tool {
        ToolCall { command: Some(command), .. } if script.files.is_empty() => command.clone(),
        ToolCall { command: Some(command), .. } => {
            format!("{command}\n\nruns:\n{}", script.lines().join("\n"))
        }
        ToolCall { mcp: Some(mcp), .. } => {
            let arguments = mcp.arguments.iter().map(|(name, value)| format!(" {name}={value}"));
            std::iter::once(mcp.tool.clone()).chain(arguments).collect()
        }
        ToolCall { .. } => tool.files_in_words().unwrap_or_default(),
    };
    let text = secrets.lost_words(&text).text(&secrets.text_here(&text)).into_owned();
    bounded(&text)
}

/// What a call runs as it was read, whole: with it, a script that has changed is another call.
pub fn as_read(script: &Script) -> String {
    script.lines().join("\n")
}

/// The actions of a call, or else its command, as one line.
pub fn in_one_line(command: &str, actions: &[String]) -> String {
    let what = if actions.is_empty() { command } else { &actions.join("; ") };
    opsctl_redact::shortened(what.lines().next().unwrap_or_default(), 200)
}

fn bounded(text: &str) -> String {
    let all = text.chars().count();
    if all <= CHARS {
        return text.to_owned();
    }
    let shown: String = text.chars().take(CHARS).collect();
    format!("{shown}\n… ({} more characters)", all - CHARS)
}
