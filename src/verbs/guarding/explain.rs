//! `opsctl explain`: what a tool call does, and the verdict that the hook would give. Reads only.

use std::io::Read as _;
use std::path::PathBuf;

use chrono::Utc;
use clap::Args;

use super::guarded;
use crate::hooks::lookups;
use crate::hooks::preview::{ActionLine, Preview, Question, preview};
use crate::machine::environment::{Environment, EnvironmentWarning};
use crate::machine::guard_link;
use crate::machine::guard_link::SLOW;
use crate::machine::link::address::Address;
use crate::machine::link::message::{Call, Reply};
use crate::machine::request::Request;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::exit_code::{DENIED, OK};
use crate::verbs::terminal::failure::Failure;
use crate::verbs::terminal::output::{complain_all, print, print_json};
use crate::verbs::terminal::project::environment_in_force;
use opsctl_inventory::load;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_reader::terms::effect::Effect;

/// The most input in bytes.
const MOST_INPUT: u64 = 8 * 1024 * 1024;

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

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("explain").with_ledger()];

/// Runs the verb.
pub fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let text = if args.command == ["-"] {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(MOST_INPUT).read_to_end(&mut bytes)?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        args.command.join(" ")
    };
    let cwd = args.cwd.clone().or_else(|| std::env::current_dir().ok());
    let question = Question { text, cwd, tier: args.tier.and_then(Tier::from_number) };
    question.check()?;
    // Another inventory is compared with the files of this side.
    let guard = guarded::in_force().filter(|_| args.hosts.is_none());
    let preview = match guard {
        Some(guard) => ask(&guard, question)?,
        None => preview(&question, &Request::here(environment(args)?, Utc::now()))?,
    };
    complain_all(&preview.warnings);
    let denied = preview.explained.decision != "allow";
    if args.json {
        print_json(&preview.explained)?;
    } else {
        print(&in_words(&preview));
    }
    Ok(if args.exit_code && denied { DENIED } else { OK })
}

/// The answer of the guard, which knows the usage of budgets and asks this side about files and variables.
fn ask((guard, request): &(Address, Request), question: Question) -> Result<Preview, Failure> {
    let cwd = question.cwd.map(|cwd| cwd.to_string_lossy().into_owned());
    let call = Call::Explain { cwd, tier: question.tier.map(Tier::number) };
    let look = &mut |question: &_| lookups::answer(question, request);
    match guard_link::call(guard, call, question.text.as_bytes(), request, SLOW, look)? {
        Reply::Value(value) => Ok(serde_json::from_value(value)?),
        _ => Err(guard_link::unexpected().into()),
    }
}

/// The environment of the process, with the inventory of the arguments.
fn environment(args: &ExplainArgs) -> Result<Environment, Failure> {
    let mut environment = environment_in_force();
    if let Some(hosts) = &args.hosts {
        load::load(hosts)?;
        environment.hosts = Some(hosts.clone());
        environment.ignore_compiled = true;
        environment.warnings.retain(|warning| !matches!(warning, EnvironmentWarning::OutdatedPolicy { .. }));
    }
    Ok(environment)
}

/// For operators: what runs where, the actions, and the verdict.
fn in_words(Preview { explained, tree, .. }: &Preview) -> String {
    let mut lines = vec!["what runs:".to_owned()];
    lines.extend(tree.iter().filter(|line| !line.is_empty()).map(|line| format!("  {line}")));
    if tree.iter().all(String::is_empty) {
        lines.push("  nothing".to_owned());
    }
    lines.push(format!("effect: {}", explained.effect));
    let doubtful = explained.parts.iter().filter(|part| part.effect != Effect::Reads.as_str());
    lines.extend(doubtful.map(|part| format!("  {}: `{}`: {}", part.effect, part.command, part.why)));
    lines.push("actions:".to_owned());
    lines.extend(explained.actions.iter().map(|action| format!("  {}", action_in_words(action))));
    if explained.actions.is_empty() {
        lines.push("  none".to_owned());
    }
    if !explained.complaints.is_empty() {
        lines.push("not understood:".to_owned());
        lines.extend(explained.complaints.iter().map(|complaint| format!("  {complaint}")));
    }
    let asks = if explained.asks { ", until a person approves it" } else { "" };
    lines.push(format!("decision: {}{asks}", explained.decision));
    lines.extend(explained.reasons.iter().map(|reason| format!("  {reason}")));
    lines.join("\n") + "\n"
}

fn action_in_words(action: &ActionLine) -> String {
    let ActionLine { kind, verb, evidence, .. } = action;
    let what = if kind == verb { kind.clone() } else { format!("{kind} ({verb})") };
    let mut words = match &action.service {
        Some(service) => format!("{what} of {service}"),
        None if matches!(kind.as_str(), "restart" | "redeployment") => {
            format!("{what} of a service that cannot be determined")
        }
        None => what,
    };
    if let Some(host) = &action.host {
        words.extend([" on ", host]);
    }
    if !action.via.is_empty() {
        words.extend([", through ", &action.via.join(", ")]);
    }
    if action.repeats {
        words.push_str(", an unknown number of times");
    }
    format!(
        "{words}: `{evidence}`{}",
        action.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default()
    )
}
