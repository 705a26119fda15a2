//! `opsctl explain`: what a tool call does, and the verdict that the hook would give. Reads only.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::Args;

use super::guarded;
use crate::hooks::preview::{Preview, Question, preview};
use crate::machine::environment::{Environment, EnvironmentWarning};
use crate::machine::guard_link;
use crate::machine::link::address::Address;
use crate::machine::link::message::{Call, Reply};
use crate::machine::request::Request;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{
    DENIED, Failure, OK, complain_all, environment_in_force, print_json, print_page,
};
use opsctl_inventory::load;
use opsctl_policy::model::rights::policy::Tier;

/// The explanation for operators: what runs where, the actions, and the verdict.
const TEMPLATE: &str = include_str!("../../../templates/verbs/explain.txt.j2");

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
    /// The command, whose words are joined with spaces, or a tool call as the client's JSON (`tool_name`, `tool_input`);
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
    let mut preview = match guard {
        Some(guard) => ask(&guard, question)?,
        None => preview(&question, &Request::here(environment(args)?, Utc::now()))?,
    };
    complain_all(&preview.warnings);
    let denied = preview.explained.decision != "allow";
    if args.json {
        print_json(&preview.explained)?;
    } else {
        preview.explained.policy = preview.explained.policy.map(|path| seen_from_here(&path));
        print_page(TEMPLATE, &preview, Utc::now())?;
    }
    Ok(if args.exit_code && denied { DENIED } else { OK })
}

/// A path, without the current folder.
fn seen_from_here(path: &str) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| Some(Path::new(path).strip_prefix(here).ok()?.display().to_string()));
    below.unwrap_or_else(|| path.to_owned())
}

/// The answer of the guard, which knows the usage of budgets.
fn ask((guard, request): &(Address, Request), question: Question) -> Result<Preview, Failure> {
    let cwd = question.cwd.map(|cwd| cwd.to_string_lossy().into_owned());
    let call = Call::Explain { cwd, tier: question.tier.map(Tier::number) };
    match guarded::ask(guard, request, call, question.text.as_bytes())? {
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
