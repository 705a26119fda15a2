//! What a tool call would do and the verdict that the hook would give, for `opsctl explain`. Records nothing.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::wire::{self, HookEvent, InputError, Read};
use crate::guard::explain::{Explanation, explain};
use crate::guard::judge::{Ending, judge};
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::installation::{header_in_force, tier_in_force};
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use opsctl_policy::effects::PartEffect;
use opsctl_policy::model::records::event::{HookCall, ToolCall};
use opsctl_policy::model::records::verdict::{Asked, Reason, ResolvedAction, Verdict};
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::rules::secrets;
use opsctl_redact::shortened;

/// The longest path or tool name that is not cut, in characters.
const SUBJECT_CHARS: usize = 200;

/// What is explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The command, or a tool call as the client's JSON.
    pub text: String,
    /// The working directory of the command.
    pub cwd: Option<PathBuf>,
    /// The tier of the session, if it is not that of the caller.
    pub tier: Option<Tier>,
}

/// Why nothing is explained.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// The JSON of another event.
    #[error("not a tool call")]
    NotAToolCall,
    /// It is not JSON of a tool call.
    #[error("not a tool call: {0}")]
    Invalid(#[from] InputError),
}

/// The explanation of a tool call, without secrets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Preview {
    /// As JSON and words state it.
    pub explained: Explained,
    /// The commands that would run, a line each; the tool and its file for a tool that is not a shell.
    pub tree: Vec<String>,
    /// Problems with the policy and the ledger.
    pub warnings: Vec<String>,
}

/// What a tool call does, and the verdict.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys of `explain --json`, which docs/reference.md describes")]
pub struct Explained {
    pub command: String,
    /// The tier of the session; left out if none is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<u8>,
    /// The file with the policy; left out if the default limits apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    pub complaints: Vec<String>,
    pub effect: String,
    pub parts: Vec<Part>,
    pub actions: Vec<ActionLine>,
    pub decision: String,
    /// Whether a person is asked in a session; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// Whether the reasons are only watched: the call runs, and is recorded as `would deny`; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub watched: bool,
    pub reasons: Vec<String>,
    /// The rules of the reasons, each once; left out if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// `redacted` for a command that prints secrets by design, if secrets in the output are replaced; left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// The effect of a part of a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys of `explain --json`, which docs/reference.md describes")]
pub struct Part {
    pub command: String,
    pub effect: String,
    pub why: String,
}

/// An action of a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys of `explain --json`, which docs/reference.md describes")]
pub struct ActionLine {
    pub kind: String,
    pub verb: String,
    /// The target as read.
    pub name: Option<String>,
    pub service: Option<String>,
    pub host: Option<String>,
    pub via: Vec<String>,
    pub repeats: bool,
    pub evidence: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Question {
    /// Whether its text can be explained.
    pub fn check(&self) -> Result<(), PreviewError> {
        let (_, event) = read(&self.text)?;
        matches!(event, HookEvent::PreToolUse(_)).then_some(()).ok_or(PreviewError::NotAToolCall)
    }
}

/// Explains a tool call.
pub fn preview(question: &Question, request: &Request) -> Result<Preview, PreviewError> {
    let (mut call, event) = read(&question.text)?;
    call.cwd = question.cwd.clone().or(call.cwd);
    let HookEvent::PreToolUse(tool) = &event else { return Err(PreviewError::NotAToolCall) };
    let tier = question.tier.or(request.tier);
    let request = &request.with(Environment { tier, ..request.environment.clone() });
    let mut warnings = Warning::of_environment(&request.warnings);
    let mut explanation = explain(&call, tool, request, true);
    warnings.append(&mut explanation.warnings);
    let judged = |acting| judge(acting, Ending::Preview, request, &mut warnings).verdict;
    let verdict = explanation.acting.as_mut().map_or(Verdict::Silent, judged);
    let subject = subject(tool);
    let redactor = request.secrets.lost_words(&subject);
    let text = |text: &str| redactor.text(&request.secrets.text_here(text)).into_owned();
    let mut explained = explained(&subject, &explanation, &verdict, &text);
    explained.tier = tier_in_force(request).map(Tier::number);
    explained.policy = installation::source(request).map(|path| text(&path.display().to_string()));
    if secrets::are_redacted(&explanation.script) && header_in_force(request).redact_output {
        explained.output = Some("redacted".to_owned());
    }
    let tree = if tool.command.is_some() { explanation.script.lines() } else { vec![subject.clone()] };
    Ok(Preview {
        explained,
        tree: tree.iter().map(|line| text(line)).collect(),
        warnings: warnings.iter().map(|warning| text(&warning.to_string())).collect(),
    })
}

/// A JSON object with `tool_name` or `tool_input` is a tool call, any other text a shell command.
fn read(text: &str) -> Result<(HookCall, HookEvent), PreviewError> {
    let names_tool = ["\"tool_name\"", "\"tool_input\""].iter().any(|key| text.contains(key));
    if let Some(rest) = text.trim_start().strip_prefix('{') {
        // In bash a blank follows the brace of a group: `{"` begins nothing that anyone would run.
        let is_json = rest.starts_with('"') || names_tool && rest.trim_start().starts_with('"');
        match wire::read(text.as_bytes(), Some("pre-tool-use"), None) {
            Ok(Read { call, event, .. }) if names_tool => return Ok((call, event)),
            Err(error) if is_json => return Err(PreviewError::Invalid(error)),
            Ok(_) | Err(_) => {}
        }
    }
    let tool = ToolCall { command: Some(text.to_owned()), ..ToolCall::default() };
    Ok((HookCall::default(), HookEvent::PreToolUse(tool)))
}

/// The shell command, else `write PATH`, `read PATH` or the name of the MCP tool; empty for any other tool.
fn subject(tool: &ToolCall) -> String {
    match tool {
        ToolCall { command: Some(command), .. } => command.clone(),
        ToolCall { mcp: Some(mcp), .. } => shortened(&mcp.tool, SUBJECT_CHARS),
        ToolCall { .. } => shortened(&tool.files_in_words().unwrap_or_default(), SUBJECT_CHARS),
    }
}

fn explained(
    command: &str,
    explanation: &Explanation<'_>,
    verdict: &Verdict,
    text: &dyn Fn(&str) -> String,
) -> Explained {
    let (decision, found): (_, &[Reason]) = match verdict {
        Verdict::Silent => ("allow", &[]),
        Verdict::Watched(reasons) => ("allow", reasons),
        Verdict::Deny(reasons) | Verdict::Ask(Asked { reasons, .. }) => ("deny", reasons),
    };
    let reasons = found.iter().map(|reason| text(&reason.text)).collect();
    let mut rules: Vec<String> = found.iter().map(|reason| reason.rule.to_owned()).collect();
    rules.sort_unstable();
    rules.dedup();
    let action = |found: &ResolvedAction| {
        let ResolvedAction { action, service, host, note, .. } = found;
        let text = |part: &String| text(part);
        ActionLine {
            kind: action.kind.as_str().to_owned(),
            verb: action.verb.as_str().to_owned(),
            name: action.target.name().map(|name| text(&name.to_owned())),
            service: service.as_ref().map(text),
            host: host.as_ref().map(text),
            via: action.via.iter().map(text).collect(),
            repeats: action.repeats,
            evidence: text(&action.evidence),
            note: note.as_ref().map(text),
        }
    };
    let part = |part: &PartEffect| Part {
        command: text(&part.text),
        effect: part.effect.as_str().to_owned(),
        why: text(&part.why.to_string()),
    };
    Explained {
        tier: None,
        policy: None,
        command: text(command),
        complaints: explanation.complaints.iter().map(|complaint| text(&complaint.to_string())).collect(),
        effect: explanation.effect().as_str().to_owned(),
        parts: explanation.effects.iter().map(part).collect(),
        actions: explanation.actions().iter().map(action).collect(),
        decision: decision.to_owned(),
        asks: matches!(verdict, Verdict::Ask(_)),
        watched: matches!(verdict, Verdict::Watched(_)),
        reasons,
        rules,
        output: None,
    }
}
