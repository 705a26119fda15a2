//! `opsctl rehearse`: tests that the installed client enforces the guard's decisions.

use std::path::PathBuf;

use clap::Args;

use crate::machine::installation;
use crate::setup::doctor::client;
use crate::setup::rehearse::{GuaranteeStatus, Report, rehearse};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{
    FAILED, Failure, OK, complain_all, environment_in_force, print, print_json, progress::during,
};

/// Test the guard: a scripted model makes the installed client attempt what must be prevented
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl rehearse                       # the client in PATH
  opsctl rehearse --project /app --json
  opsctl rehearse --client ./claude     # before it is installed
  opsctl rehearse --only 'the budget'   # one guarantee

Nothing is restarted. The model is part of opsctl, and listens on loopback. Stubs replace programs that would reach a \
service. State and home are temporary, and no key is used. It takes about a minute. Exit code 1 if a guarantee fails.")]
pub struct RehearseArgs {
    /// The client; default: `CLAUDEOPS_CLIENT`, else `claude` in PATH
    #[arg(long, value_name = "PATH")]
    client: Option<PathBuf>,
    /// The folder with .claude/settings.json, used in addition to managed settings; default:
    /// `CLAUDE_PROJECT_DIR`, else the current folder
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Only guarantees that contain this text; may be repeated
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("rehearse")];

/// Runs the verb.
pub fn run(args: &RehearseArgs) -> Result<u8, Failure> {
    let mut environment = environment_in_force();
    let here = installation::hosts_file(&environment);
    if let Some(project) = &args.project {
        environment.project_dir.clone_from(project);
        environment.hosts = installation::hosts_file(&environment).or(here);
    }
    let mut warnings = Vec::new();
    let policy = installation::in_force(&environment, &mut warnings);
    complain_all(warnings);
    let client = match &args.client {
        Some(client) => client.canonicalize().map_err(|error| {
            Failure::new(format!("{}: {error}; name the client with --client", client.display()))
        })?,
        None => client::find().ok_or_else(|| {
            Failure::new("no client: neither CLAUDEOPS_CLIENT nor `claude` in PATH; name it with --client")
        })?,
    };
    let what = "rehearsing the guarantees with the installed client".to_owned();
    let project = &environment.project_dir;
    let hosts = installation::hosts_file(&environment);
    let folders = (project.as_path(), environment.session_state_dir());
    let report = during(what, || rehearse(client, folders, hosts.as_deref(), &policy, &args.only))?;
    if args.json {
        print_json(&report)?;
    } else {
        print(&in_words(&report));
    }
    Ok(if report.is_good() { OK } else { FAILED })
}

fn in_words(report: &Report) -> String {
    let mut lines = vec![format!("client {} ({})", report.version, report.client.display())];
    for finding in &report.guarantees {
        let outcome = match finding.outcome {
            GuaranteeStatus::Pass => "PASS",
            GuaranteeStatus::Fail => "FAIL",
            GuaranteeStatus::NotApplicable => "SKIP",
        };
        lines.push(format!("{outcome}: {}\n    {}", finding.guarantee, finding.seen));
    }
    lines.join("\n") + "\n"
}
