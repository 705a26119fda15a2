//! `opsctl doctor`: whether an installation is sound.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use super::doctor_hooks;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::warning::Warning;
use crate::setup::doctor::hooks::{Locations, survey};
use crate::setup::doctor::{Condition, Examined, client, examine, names};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{FAILED, Failure, OK, print, print_json};

/// Check a running installation: settings, hooks, program, client, credentials, ledger, rights, hosts, services
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl doctor
  opsctl doctor --project project
  opsctl doctor --quick     # without hosts, services and other programs
  opsctl doctor --hooks     # every hook, and why one does not run
  opsctl doctor --json

Each finding comes with its remedy. Exit code 1 if something failed; warnings do not count.")]
pub struct DoctorArgs {
    /// The folder with .claude/settings.json; default: `CLAUDE_PROJECT_DIR`, else the current folder, else the one below it that was
    /// rendered
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Skip slow checks
    #[arg(long)]
    quick: bool,
    /// Run only this check
    #[arg(long, value_name = "CHECK", value_parser = PossibleValuesParser::new(names()))]
    only: Option<String>,
    /// List the hooks of every source, those that the client ignores included
    #[arg(long, conflicts_with = "quick")]
    hooks: bool,
    /// With `--hooks`: the file that the client is started with as `--settings`
    #[arg(long, value_name = "FILE", requires = "hooks")]
    settings: Option<PathBuf>,
    /// With `--hooks`: a folder that the client is started with as `--plugin-dir`
    #[arg(long, value_name = "DIR", requires = "hooks")]
    plugin_dir: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("doctor").with_keys()];

/// Runs the verb.
pub fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let mut environment = Environment::of_process();
    if let Some(project) = args.project.clone().or_else(|| installation::rendered_below(&environment)) {
        if !project.is_dir() {
            return Err(Failure::new(format!(
                "there is no folder {}; name one that was rendered",
                project.display()
            )));
        }
        environment.hosts = installation::hosts_file(&environment);
        environment.project_dir = project;
    }
    let opsctl = std::env::current_exe()?;
    let mut locations =
        Locations { settings: args.settings.clone(), ..client::locations(&environment.project_dir) };
    locations.plugins.extend(args.plugin_dir.iter().cloned());
    let hooks = survey(&locations, client::bare());
    if args.hooks {
        return doctor_hooks::run(&hooks, args.json);
    }
    let mut warnings = Warning::of_environment(&environment.warnings);
    let policy = installation::in_force(&environment, &mut warnings);
    let findings = examine(
        &Examined {
            environment: &environment,
            policy: &policy,
            warnings: &warnings,
            client: client::find(),
            opsctl,
            hooks: &hooks,
            quick: args.quick,
        },
        args.only.as_deref(),
    );
    let healthy = findings.iter().all(|finding| finding.condition != Condition::Failed);
    if args.json {
        print_json(&json!({ "healthy": healthy, "findings": findings }))?;
    } else {
        print(&findings.iter().map(ToString::to_string).collect::<String>());
    }
    Ok(if healthy { OK } else { FAILED })
}
