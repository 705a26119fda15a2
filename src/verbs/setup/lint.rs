//! `opsctl lint`: what is probably not meant in hosts.yaml.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde_json::json;

use crate::machine::installation::hosts_file;
use crate::setup::lint::{Finding, findings};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{FAILED, Failure, OK, environment_in_force, print, print_json};
use opsctl_inventory::load;

/// List what is probably not meant in hosts.yaml: contradictions, rules without effect, services that nothing can act on
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl lint
  opsctl lint --hosts new-hosts.yaml --json

Exit code 1 if there is a finding. `opsctl render` reports what is wrong in any case.")]
pub struct LintArgs {
    /// The inventory; default: the one in force
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    hosts: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("lint")];

/// Runs the verb.
pub fn run(args: &LintArgs) -> Result<u8, Failure> {
    let hosts = args.hosts.clone().or_else(|| hosts_file(&environment_in_force()));
    let hosts =
        hosts.ok_or_else(|| Failure::new("no hosts.yaml: name one with --hosts or CLAUDEOPS_HOSTS"))?;
    let found = findings(&load::load(&hosts)?);
    if args.json {
        print_json(&json!({ "findings": found }))?;
    } else {
        for Finding { at, what, remedy } in &found {
            print(&format!("{at}: {what}; {remedy}\n"));
        }
        if found.is_empty() {
            print(&format!("nothing found in {}\n", hosts.display()));
        }
    }
    Ok(if found.is_empty() { OK } else { FAILED })
}
