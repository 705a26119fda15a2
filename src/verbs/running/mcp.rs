//! `opsctl mcp`: merges MCP servers, and starts those of repositories.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use chrono::Utc;
use clap::{Args, Subcommand};

use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::records;
use crate::machine::runner::RunnerEnvironment;
use crate::sessions::mcp;
use crate::sessions::mcp::Order;
use crate::sessions::mcp::definition::{COMMON, PASSED_ON};
use crate::sessions::mcp::tier::write_private;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, complain, complain_all, print, utf8};
use opsctl_policy::model::records::event::{Level, NewEvent};

/// Merge the MCP servers of the baseline and of the mounted repositories
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl mcp merge
  opsctl mcp merge --repos /repos --out /state/mcp.json

The servers of a repository are in REPOS/NAME/.claude-ops/mcp.json. One runs only if `repositories.NAME.servers` \
of hosts.yaml lists it, with the environment variables that are named there. The baseline wins over a \
repository, and an earlier repository over a later one. A session gets the servers that `policy.tiers.N.tools` \
names. What is left out is reported with a warning and an event.")]
pub struct McpArgs {
    #[command(subcommand)]
    verb: McpVerb,
}

#[derive(Debug, Subcommand)]
enum McpVerb {
    /// Merge and write the servers, replacing those of an earlier round
    #[command(after_help = "Examples:
  opsctl mcp merge
  opsctl mcp merge --repos /repos --out /state/mcp.json")]
    Merge(MergeArgs),
    /// Run the program of a repository's server with an environment of its own
    #[command(after_help = "Examples:
  opsctl mcp run --env GITEA_TOKEN -- gitea-mcp --stdio

The program gets the variables that `--env` names, HOME, PATH and a few harmless ones. `opsctl mcp merge` writes \
such commands; there is no need to call it by hand.")]
    Run(RunArgs),
}

#[derive(Debug, Args)]
struct MergeArgs {
    /// The file with the baseline servers; default: `CLAUDEOPS_MCP_BASELINE`, else .claude/mcp.json in
    /// `CLAUDE_PROJECT_DIR`
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// The folder of the repositories; default: `CLAUDEOPS_REPOS_DIR`, else /repos
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// The output file; default: mcp.json in the state folder, which `opsctl session` and `opsctl tier` use
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct RunArgs {
    /// An environment variable that the program gets
    #[arg(long, value_name = "NAME")]
    env: Vec<OsString>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The facts of the verbs.
pub const FACTS: &[Facts] =
    &[Facts::operator("mcp merge").writes(&["--out"]).with_state(), Facts::operator("mcp run").runs()];

/// Runs the verb.
pub fn run(args: &McpArgs) -> Result<u8, Failure> {
    match &args.verb {
        McpVerb::Merge(args) => merge(args),
        McpVerb::Run(args) => start(args),
    }
}

fn merge(args: &MergeArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    let runner = RunnerEnvironment::of_process();
    let mut warnings = vec![];
    let installation = installation::in_force(&environment, &mut warnings).installation;
    complain_all(warnings);
    let opsctl = std::env::current_exe()?;
    let merged = mcp::merge(&Order {
        baseline: &args.baseline.clone().unwrap_or_else(|| runner.mcp_baseline(&environment)),
        repos: args.repos.as_ref().unwrap_or(&runner.repos_dir),
        listed: &installation.repository_servers,
        tiers: &installation.policy.tiers,
        opsctl: utf8(&opsctl)?,
    });
    for left_out in &merged.left_out {
        complain(left_out);
        // It recurs in every round, so it is an event unless it is among the latest.
        let event = NewEvent { level: Level::Warning, service: None, message: left_out.to_string() };
        complain_all(records::add_event_once(&environment, &event, Utc::now()).err());
    }
    let out = args.out.clone().unwrap_or_else(|| environment.mcp_config());
    let failed = |error| Failure::unwritable(&out, &error, "name a writable file with --out");
    if merged.is_empty() {
        // Without servers, no file is needed.
        match std::fs::remove_file(&out) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => return Ok(OK),
        }
    }
    write_private(&out, merged.to_json().as_bytes()).map_err(failed)?;
    print(&merged.origins().map(|line| format!("{line}\n")).collect::<String>());
    Ok(OK)
}

/// Replaces this process by the program. Returns only if that fails.
fn start(args: &RunArgs) -> Result<u8, Failure> {
    let [program, arguments @ ..] = args.command.as_slice() else { return Ok(OK) };
    let common = COMMON.iter().map(OsString::from).chain(args.env.iter().cloned());
    let passed = common.filter_map(|name| Some((name.clone(), std::env::var_os(name)?)));
    let own = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.to_str()?.strip_prefix(PASSED_ON)?;
        Some((OsString::from(name), value))
    });
    let error = Command::new(program).args(arguments).env_clear().envs(passed.chain(own)).exec();
    Err(Failure::unstartable(program, &error))
}
