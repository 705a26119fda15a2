//! `opsctl session`: runs a headless session of the client.

use std::path::Path;

use clap::Args;
use serde_json::Value;

use super::exit_code::{FAILED, OK};
use super::failure::Failure;
use super::output::{complain, complain_all, print};
use super::tier::{servers_of, tool_limits};
use crate::model::policy::Tier;
use crate::render::SETTINGS;
use crate::render::tier_args::client_arguments;
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::runtime::runner::RunnerEnvironment;
use crate::runtime::warning::Warning;
use crate::session::handoff::RESULT_SCHEMA;
use crate::session::handoff::desk::Desk;
use crate::session::prompt;
use crate::session::record::Outcome;
use crate::session::run::{self, Session, Voices};

/// Run a headless session of the client at a tier
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl session --tier 1
  opsctl session --tier 2 --handoff   # with the hand-over that was taken

Exit code 0: the session completed. 1: it failed, timed out, was ended by a signal or could not be started; see \
the table client_runs of the ledger and the log in the results folder.")]
pub struct SessionArgs {
    /// The tier
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: u8,
    /// Add the hand-over of the lower tier to the prompt
    #[arg(long)]
    handoff: bool,
}

/// Runs the verb.
pub fn run(args: &SessionArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    let runner = RunnerEnvironment::of_process();
    let mut warnings = Warning::of_environment(&runner.warnings);
    let installation = installation::in_force(&environment, &mut warnings).installation;
    // The argument parser accepts only 1 to 3.
    let tier = Tier::from_number(args.tier).unwrap_or(Tier::Observe);
    let policy = installation.policy.tier(tier);
    let handoff = if args.handoff {
        let taken = Desk::new(&environment.state_dir, &environment.results_dir()).take_for(tier);
        if taken.is_none() {
            complain(format_args!("nothing was handed over to tier {}", tier.number()));
        }
        taken
    } else {
        None
    };
    let of_tier = prompt::of_tier(tier, &installation, &environment, &runner, &mut warnings)?;
    complain_all(warnings);
    let tool_limits = tool_limits(&runner, tier, policy)?;
    let servers = servers_of(&environment, tier, &tool_limits.remaining(&policy.tools));
    let model = runner.model(tier, policy);
    let mut limits =
        client_arguments(policy, installation.policy.rules.catalogue, model, servers.as_deref(), tool_limits);
    if policy.structured_result {
        limits.extend(["--json-schema".to_owned(), RESULT_SCHEMA.to_owned()]);
    }
    let session = Session {
        tier,
        model,
        limits,
        prompt: prompt::complete(&of_tier, policy.structured_result, runner.dry_run, handoff.as_ref()),
        settings: &installation.settings,
        hooks: hooks_of(&environment.project_dir),
        deadline: policy.deadline,
        environment: &environment,
        runner: &runner,
        inventory: &installation.inventory,
        parent: handoff.as_ref().and_then(|handoff| handoff.from_session.as_deref()),
    };
    let voices = Voices { tell: &|line| print(&format!("{line}\n")), complain: &|line| complain(line) };
    let outcome = run::run(&session, &voices)?;
    Ok(if outcome == Outcome::Completed { OK } else { FAILED })
}

/// The hooks of the project's settings; `None` if there are none, as where they are in managed settings.
fn hooks_of(project: &Path) -> Option<Value> {
    let text = std::fs::read(project.join(SETTINGS)).ok()?;
    serde_json::from_slice::<Value>(&text).ok()?.get_mut("hooks").map(Value::take)
}
