//! `opsctl mcp`: merges MCP servers.

use std::io::Write as _;
use std::path::PathBuf;

use chrono::Utc;
use clap::{Args, Subcommand};

use super::exit_code::OK;
use super::failure::Failure;
use super::output::{complain, print};
use crate::ledger::{Ledger, LedgerError, Source};
use crate::model::event::{Level, NewEvent};
use crate::runtime::environment::Environment;
use crate::runtime::runner::RunnerEnvironment;
use crate::session::mcp;

/// Merge the MCP servers of the baseline and of the mounted repositories
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl mcp merge
  opsctl mcp merge --baseline /app/.claude/mcp.json --repos /repos --out /state/mcp.json

The servers of a repository are in REPOS/NAME/.claude-ops/mcp.json. Repositories are merged in the order of their
names; a server replaces an earlier one with its name. A file with an error is left out, with a warning and an
event. `policy.tiers.N.tools` allows the tools of a server to a tier.")]
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

/// Runs the verb.
pub fn run(args: &McpArgs) -> Result<u8, Failure> {
    let McpVerb::Merge(args) = &args.verb;
    let environment = Environment::of_process();
    let runner = RunnerEnvironment::of_process();
    let baseline = args.baseline.clone().or(runner.mcp_baseline);
    let baseline = baseline.unwrap_or_else(|| environment.project_dir.join(".claude/mcp.json"));
    let merged = mcp::merge(&baseline, args.repos.as_ref().unwrap_or(&runner.repos_dir));
    for left_out in &merged.left_out {
        complain(left_out);
        if let Err(error) = record(&environment, &left_out.to_string()) {
            complain(error);
        }
    }
    let out = args.out.clone().unwrap_or_else(|| environment.mcp_config());
    let failed =
        |error| Failure::Unwritable { path: out.clone(), error, remedy: "name a writable file with --out" };
    if merged.is_empty() {
        // Without servers, no file is needed.
        match std::fs::remove_file(&out) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => return Ok(OK),
        }
    }
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| std::path::Path::new("."));
    // Readable by the owner only, as temporary files are: servers may get keys.
    let mut temporary = tempfile::Builder::new().prefix(".opsctl-").tempfile_in(folder).map_err(failed)?;
    temporary.write_all(merged.to_json().as_bytes()).map_err(failed)?;
    temporary.persist(&out).map_err(|error| failed(error.error))?;
    print(&merged.origins.iter().map(|line| format!("{line}\n")).collect::<String>());
    Ok(OK)
}

/// Records a warning as an event, unless it is among the latest: the warning recurs in every round.
fn record(environment: &Environment, message: &str) -> Result<(), LedgerError> {
    let mut ledger = Ledger::open(&environment.db_path)?;
    let change = ledger.change()?;
    if !change.is_recent_event(None, message)? {
        let event = NewEvent { level: Level::Warning, service: None, message: message.to_owned() };
        change.add_event_from(Source::Runner, None, &event, Utc::now())?;
    }
    change.commit()
}
