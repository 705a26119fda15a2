//! `opsctl mcp`: the MCP servers of a cycle.

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

The servers of each repository stand in REPOS/NAME/.claude-ops/mcp.json. Repositories are taken in the order of their
names; a server replaces one of the same name. A file that cannot be used is named, left out and written down as an
event. The tools of a server are allowed to a tier under `policy.tiers.N.tools`.")]
pub struct McpArgs {
    #[command(subcommand)]
    verb: McpVerb,
}

#[derive(Debug, Subcommand)]
enum McpVerb {
    /// Write the merged servers, from the baseline on, in the place of an earlier cycle's
    #[command(after_help = "Examples:
  opsctl mcp merge
  opsctl mcp merge --repos /repos --out /state/mcp.json")]
    Merge(MergeArgs),
}

#[derive(Debug, Args)]
struct MergeArgs {
    /// The servers that are there without any repository; without it `CLAUDEOPS_MCP_BASELINE`, else
    /// .claude/mcp.json below `CLAUDE_PROJECT_DIR`
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// The folder of the repositories; without it `CLAUDEOPS_REPOS_DIR`, else /repos
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// Where the merged servers go; without it mcp.json in the state folder, where `opsctl session` and
    /// `opsctl tier` find them
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs with parsed arguments.
pub fn run(args: &McpArgs) -> Result<u8, Failure> {
    let McpVerb::Merge(args) = &args.verb;
    let environment = Environment::of_process();
    let runner = RunnerEnvironment::of_process();
    let baseline = args.baseline.clone().or(runner.mcp_baseline);
    let baseline = baseline.unwrap_or_else(|| environment.project_dir.join(".claude/mcp.json"));
    let merged = mcp::merge(&baseline, args.repos.as_ref().unwrap_or(&runner.repos_dir));
    for complaint in &merged.complaints {
        complain(complaint);
        if let Err(error) = write_down(&environment, complaint) {
            complain(error);
        }
    }
    let out = args.out.clone().unwrap_or_else(|| environment.mcp_config());
    let failed =
        |error| Failure::Unwritable { path: out.clone(), error, remedy: "name a writable file with --out" };
    if merged.is_empty() {
        // An empty list would be one more file to read for the client.
        match std::fs::remove_file(&out) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => return Ok(OK),
        }
    }
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| std::path::Path::new("."));
    // Readable by its owner alone, as temporary files are: servers are given keys.
    let mut temporary = tempfile::Builder::new().prefix(".opsctl-").tempfile_in(folder).map_err(failed)?;
    temporary.write_all(merged.to_json().as_bytes()).map_err(failed)?;
    temporary.persist(&out).map_err(|error| failed(error.error))?;
    print(&merged.origins.iter().map(|line| format!("{line}\n")).collect::<String>());
    Ok(OK)
}

/// The same mistake is met in every cycle, and written down while it is news.
fn write_down(environment: &Environment, message: &str) -> Result<(), LedgerError> {
    let mut ledger = Ledger::open(&environment.db_path)?;
    let change = ledger.change()?;
    if !change.is_recent_event(None, message)? {
        let event = NewEvent { level: Level::Warning, service: None, message: message.to_owned() };
        change.add_event_from(Source::Runner, None, &event, Utc::now())?;
    }
    change.commit()
}
