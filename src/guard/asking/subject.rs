//! A call as a person is shown it.

use opsctl_policy::model::records::event::ToolCall;
use opsctl_reader::shell::{Script, Word};
use opsctl_reader::terms::plain_text::is_hidden;
use opsctl_redact::Redactor;

/// The longest text, in characters.
const CHARS: usize = 4_000;

/// A call as persons see it.
pub struct Shown {
    /// The text without secrets, cut if it is long.
    pub text: String,
    /// Why the text is not all that the call does; `None` if it is, except for literal values of secrets.
    pub hides: Option<&'static str>,
}

/// The command as the agent wrote it, and what it runs where files of this machine decide that; for another tool, what it
/// opens or its arguments. Without `secrets` and others.
pub fn shown(tool: &ToolCall, script: &Script, secrets: &Redactor) -> Shown {
    let text = match tool {
        ToolCall { command: Some(command), .. } if script.files.is_empty() => command.clone(),
        ToolCall { command: Some(command), .. } => {
            format!("{command}\n\nruns:\n{}", script.lines().join("\n"))
        }
        ToolCall { mcp: Some(mcp), .. } => {
            let arguments =
                mcp.arguments.iter().chain(&mcp.others).map(|(name, value)| format!(" {name}={value}"));
            std::iter::once(mcp.tool.clone()).chain(arguments).collect()
        }
        ToolCall { .. } => tool.files_in_words().unwrap_or_default(),
    };
    let without = secrets.lost_words(&text).text(&secrets.text_here(&text)).into_owned();
    let hides = left_out(tool, script).or_else(|| hidden(&text, &without, script));
    Shown { text: bounded(&without), hides }
}

/// Why the text of a call does not contain all of it.
fn left_out(tool: &ToolCall, script: &Script) -> Option<&'static str> {
    if tool.mcp.as_ref().is_some_and(|mcp| !mcp.is_whole) {
        return Some("some of its arguments are not shown. Make several calls, with fewer of them");
    }
    if tool.files.iter().any(|file| file.writes) {
        return Some("the text that it writes is not shown. Use a command that contains the text");
    }
    // The reading of a file ends words that are long.
    let is_cut = !script.files.is_empty() && script.lines().iter().any(|line| line.contains('…'));
    is_cut.then_some("a word of a file that it runs is too long to show. Shorten it")
}

/// Why a person would not see all of `text` in `shown`: only a literal value may be hidden.
fn hidden(text: &str, shown: &str, script: &Script) -> Option<&'static str> {
    if text.chars().count() > CHARS {
        return Some("it has more than 4000 characters. Shorten it, or make several calls");
    }
    if text.chars().any(|c| is_hidden(c) && !matches!(c, '\n' | '\t')) {
        return Some("it contains characters that are not visible. Leave them out");
    }
    let secrets: Vec<&str> = opsctl_redact::formed(text).map(unquoted).collect();
    if !secrets.iter().all(|secret| is_literal(secret)) {
        return Some(
            "a secret in it is more than a literal value, which would be hidden. Write it without code, blanks and quotes, \
             or as a variable such as `$TOKEN`",
        );
    }
    // What an environment states as its secret may be any word of the command.
    if opsctl_redact::name(text) != shown {
        return Some(
            "it contains the value of a secret variable, which would be hidden. Name the variable in its place",
        );
    }
    let programs = script.commands().into_iter().filter_map(|command| command.words.first());
    let is_secret = |program: &Word| secrets.iter().any(|secret| program.text.contains(secret));
    let runs_secret = programs.into_iter().any(is_secret);
    runs_secret.then_some("the name of a program in it would be hidden as a secret. Write the program itself")
}

/// A text without a pair of quotes around it.
fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('\'').or_else(|| within('"')).unwrap_or(text)
}

/// Whether a text stands for itself in every language, within quotes and without.
fn is_literal(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "_-.+/=:@%,".contains(c))
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
