//! `opsctl explain`: what a tool call does, and the verdict that the hook would give. Reads only.

use std::io::Read as _;
use std::path::PathBuf;

use chrono::Utc;
use clap::Args;
use serde::Serialize;

use super::exit_code::{DENIED, OK};
use super::failure::Failure;
use super::output::{complain_all, print, print_json};
use super::project::environment_in_force;
use crate::guard::explain::{Explanation, explain};
use crate::hook::wire;
use crate::inventory::load;
use crate::model::effect::Effect;
use crate::model::event::{HookCall, HookEvent, ToolCall};
use crate::model::plain_text::shortened;
use crate::model::policy::Tier;
use crate::model::verdict::{Asked, ResolvedAction, Verdict};
use crate::policy::effect::PartEffect;
use crate::redact::{self, Redactor};
use crate::runtime::environment::{Environment, EnvironmentWarning};
use crate::runtime::warning::Warning;

/// The longest path or tool name that is not cut, in characters.
const SUBJECT_CHARS: usize = 200;

/// Explain what a command or another tool call does, and whether it would be denied
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl explain 'ssh root@ie01 \"docker restart jellyfin\"'
  opsctl explain --json 'for s in jellyfin sonarr; do docker restart $s; done'
  opsctl explain --tier 1 --exit-code docker restart jellyfin
  opsctl explain '{\"tool_name\":\"Read\",\"tool_input\":{\"file_path\":\"/app/.env\"}}'
  opsctl explain - < script.sh")]
pub struct ExplainArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The working directory of the command
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Explain with this inventory and policy instead of those in force
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Explain for a session of this tier
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: Option<u8>,
    /// Exit with 2 if the call would be denied
    #[arg(long)]
    exit_code: bool,
    /// The command, its words joined with blanks, or a tool call as the client's JSON (`tool_name`, `tool_input`);
    /// `-` reads it from stdin
    #[arg(required = true, trailing_var_arg = true)]
    command: Vec<String>,
}

impl ExplainArgs {
    /// Whether the command is on stdin.
    pub fn reads_stdin(&self) -> bool {
        self.command == ["-"]
    }

    /// Whether the working directory of the command is that of this process.
    pub const fn is_here(&self) -> bool {
        self.cwd.is_none()
    }
}

/// Runs the verb.
pub fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let text = if args.reads_stdin() {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes)?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        args.command.join(" ")
    };
    let mut call = read(&text)?;
    call.cwd = args.cwd.clone().or(call.cwd).or_else(|| std::env::current_dir().ok());
    let HookEvent::PreToolUse(tool) = &call.event else { return Err(Failure::NotAToolCall) };
    let environment = environment(args)?;
    let mut warnings = Warning::of_environment(&environment.warnings);
    let mut explanation = explain(&call, tool, &environment, Utc::now(), true);
    warnings.append(&mut explanation.warnings);
    let verdict = explanation.preview(&environment, &mut warnings);
    complain_all(warnings);
    let subject = subject(tool);
    let wire = ExplanationWire::new(&subject, &explanation, &verdict);
    let redactor = Redactor::of_text(&subject);
    if args.json {
        let mut value = serde_json::to_value(&wire)?;
        redact::json(&mut value);
        redactor.json(&mut value);
        print_json(&value)?;
    } else {
        let tree = if tool.command.is_some() { explanation.script.lines() } else { vec![subject.clone()] };
        print(redactor.text(&redact::text(&wire.in_words(&tree))).as_ref());
    }
    Ok(if args.exit_code && verdict != Verdict::Silent { DENIED } else { OK })
}

/// The environment of the process, with the inventory and the tier of the arguments.
fn environment(args: &ExplainArgs) -> Result<Environment, Failure> {
    let mut environment = environment_in_force();
    if let Some(hosts) = &args.hosts {
        load::load(hosts)?;
        environment.hosts = Some(hosts.clone());
        environment.ignore_compiled = true;
        environment.warnings.retain(|warning| !matches!(warning, EnvironmentWarning::OutdatedPolicy { .. }));
    }
    environment.tier = args.tier.and_then(Tier::from_number).or(environment.tier);
    Ok(environment)
}

/// A JSON object with `tool_name` or `tool_input` is a tool call, any other text a shell command.
fn read(text: &str) -> Result<HookCall, Failure> {
    let names_tool = ["\"tool_name\"", "\"tool_input\""].iter().any(|key| text.contains(key));
    if let Some(rest) = text.trim_start().strip_prefix('{') {
        // In bash a blank follows the brace of a group: `{"` begins nothing that anyone would run.
        let is_json = rest.starts_with('"') || names_tool && rest.trim_start().starts_with('"');
        match wire::read(text.as_bytes(), Some("pre-tool-use"), None) {
            Ok(call) if names_tool => return Ok(call),
            Err(error) if is_json => return Err(Failure::InvalidToolCall(error)),
            Ok(_) | Err(_) => {}
        }
    }
    let tool = ToolCall { id: None, command: Some(text.to_owned()), file: None, mcp: None };
    let event = HookEvent::PreToolUse(tool);
    Ok(HookCall { session: None, client_session: None, cwd: None, transcript: None, event })
}

/// The shell command, else `write PATH`, `read PATH` or the name of the MCP tool; empty for any other tool.
fn subject(tool: &ToolCall) -> String {
    match tool {
        ToolCall { command: Some(command), .. } => command.clone(),
        ToolCall { file: Some(file), .. } => {
            format!("{} {}", if file.writes { "write" } else { "read" }, shortened(&file.path, SUBJECT_CHARS))
        }
        ToolCall { mcp: Some(mcp), .. } => shortened(&mcp.tool, SUBJECT_CHARS),
        ToolCall { .. } => String::new(),
    }
}

#[derive(Serialize)]
struct ExplanationWire<'a> {
    command: &'a str,
    complaints: Vec<String>,
    effect: &'static str,
    parts: Vec<PartWire<'a>>,
    actions: Vec<ActionWire<'a>>,
    decision: &'static str,
    /// Whether a person is asked in a session; left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    asks: bool,
    reasons: Vec<&'a str>,
}

#[derive(Serialize)]
struct PartWire<'a> {
    command: &'a str,
    effect: &'static str,
    why: String,
}

#[derive(Serialize)]
struct ActionWire<'a> {
    kind: &'static str,
    verb: &'static str,
    /// The target as read.
    name: Option<&'a str>,
    service: Option<&'a str>,
    host: Option<&'a str>,
    via: &'a [String],
    repeats: bool,
    evidence: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

impl<'a> ExplanationWire<'a> {
    fn new(command: &'a str, explanation: &'a Explanation<'_>, verdict: &'a Verdict) -> Self {
        let (decision, reasons) = match verdict {
            Verdict::Silent => ("allow", vec![]),
            Verdict::Deny(reasons) | Verdict::Ask(Asked { reasons, .. }) => {
                ("deny", reasons.iter().map(|reason| reason.text.as_str()).collect())
            }
        };
        let actions = explanation
            .actions()
            .iter()
            .map(|ResolvedAction { action, service, host, note, .. }| ActionWire {
                kind: action.kind.as_str(),
                verb: action.verb.as_str(),
                name: action.target.name(),
                service: service.as_deref(),
                host: host.as_deref(),
                via: &action.via,
                repeats: action.repeats,
                evidence: &action.evidence,
                note: note.as_deref(),
            })
            .collect();
        let part = |part: &'a PartEffect| PartWire {
            command: &part.text,
            effect: part.effect.as_str(),
            why: part.why.to_string(),
        };
        Self {
            command,
            complaints: explanation.complaints.iter().map(ToString::to_string).collect(),
            effect: explanation.effect().as_str(),
            parts: explanation.effects.iter().map(part).collect(),
            actions,
            decision,
            asks: matches!(verdict, Verdict::Ask(_)),
            reasons,
        }
    }

    /// For operators: what runs where, the actions, and the verdict.
    fn in_words(&self, tree: &[String]) -> String {
        let mut lines = vec!["what runs:".to_owned()];
        lines.extend(tree.iter().filter(|line| !line.is_empty()).map(|line| format!("  {line}")));
        if tree.iter().all(String::is_empty) {
            lines.push("  nothing".to_owned());
        }
        lines.push(format!("effect: {}", self.effect));
        let doubtful = self.parts.iter().filter(|part| part.effect != Effect::Reads.as_str());
        lines.extend(doubtful.map(|part| format!("  {}: `{}`: {}", part.effect, part.command, part.why)));
        lines.push("actions:".to_owned());
        lines.extend(self.actions.iter().map(|action| format!("  {}", action.in_words())));
        if self.actions.is_empty() {
            lines.push("  none".to_owned());
        }
        if !self.complaints.is_empty() {
            lines.push("not understood:".to_owned());
            lines.extend(self.complaints.iter().map(|complaint| format!("  {complaint}")));
        }
        let asks = if self.asks { ", until a person approves it" } else { "" };
        lines.push(format!("decision: {}{asks}", self.decision));
        lines.extend(self.reasons.iter().map(|reason| format!("  {reason}")));
        lines.join("\n") + "\n"
    }
}

impl ActionWire<'_> {
    fn in_words(&self) -> String {
        let Self { kind, verb, evidence, .. } = self;
        let what = if kind == verb { (*kind).to_owned() } else { format!("{kind} ({verb})") };
        let mut words = match self.service {
            Some(service) => format!("{what} of {service}"),
            None if matches!(*kind, "restart" | "redeployment") => {
                format!("{what} of a service that cannot be determined")
            }
            None => what,
        };
        if let Some(host) = self.host {
            words.extend([" on ", host]);
        }
        if !self.via.is_empty() {
            words.extend([", through ", &self.via.join(", ")]);
        }
        if self.repeats {
            words.push_str(", an unknown number of times");
        }
        format!("{words}: `{evidence}`{}", self.note.map(|note| format!(" ({note})")).unwrap_or_default())
    }
}
