//! `opsctl session`: runs a headless session of the client.

use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::Args;
use serde_json::Value;

use super::tier::{servers_of, tool_limits};
use crate::machine::environment::Environment;
use crate::machine::runner::RunnerEnvironment;
use crate::machine::warning::Warning;
use crate::machine::{installation, records};
use crate::sessions::handoff::RESULT_SCHEMA;
use crate::sessions::handoff::desk::Desk;
use crate::sessions::prompt;
use crate::sessions::record::{Record, SessionOutcome};
use crate::sessions::run;
use crate::sessions::session::{Session, Voices};
use crate::sessions::transcript;
use crate::sessions::verifier::{self, Verifier};
use crate::setup::render::tier_args::client_arguments;
use crate::setup::render::{SETTINGS, VERIFIER, agent_timeout, prompts};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{FAILED, Failure, OK, complain, complain_all, print};
use opsctl_inventory::Installation;
use opsctl_ledger::sessions::client_runs::WaitingRun;
use opsctl_machine::plain_file;
use opsctl_policy::model::installation::checks::Verifier as Mode;
use opsctl_policy::model::rights::policy::Tier;

/// Run a headless session of the client at a tier
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl session --tier 1
  opsctl session --tier 2 --handoff   # with the hand-over that was taken
  opsctl session --answered           # waited for a person, can be resumed
  opsctl session --resume 3f0c5a6e-0d4b-4a57-9a55-6f1f0a3f4a55

Exit code 0: the session completed, or waits for a person. 1: it failed, timed out, was ended by a signal or could not be started; see \
`opsctl sessions` and the log in the results folder.")]
pub struct SessionArgs {
    /// The tier
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    #[arg(required_unless_present_any = ["resume", "answered"], conflicts_with_all = ["resume", "answered"])]
    tier: Option<u8>,
    /// Add the hand-over of the lower tier to the prompt
    #[arg(long)]
    handoff: bool,
    /// Resume a session that waited for a person, at its tier
    #[arg(long, value_name = "ID", conflicts_with = "handoff")]
    resume: Option<String>,
    /// List the sessions that waited for a person and can be resumed: the tier and the id of each
    #[arg(long, conflicts_with_all = ["resume", "handoff"])]
    answered: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("session").with_state().with_keys()];

/// Runs the verb.
pub fn run(args: &SessionArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    if args.answered {
        return answered(&environment);
    }
    let runner = RunnerEnvironment::of_process();
    let mut warnings = Warning::of_environment(&runner.warnings);
    let installation = installation::in_force(&environment, &mut warnings).installation;
    let resumed = args.resume.as_deref().map(|id| waiting(&environment, &runner, id)).transpose()?;
    // The argument parser accepts only 1 to 3.
    let number = resumed.as_ref().map(|run| run.tier).or(args.tier);
    let tier = number.and_then(Tier::from_number).unwrap_or(Tier::Observe);
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
        // The client asks for the call that waits, not the model for a next step.
        prompt: if resumed.is_some() {
            String::new()
        } else {
            let from = handoff.as_ref().and_then(|handoff| handoff.from_session.as_deref());
            let undo =
                from.map(|session| records::before(&environment, session, Utc::now())).unwrap_or_default();
            let handoff = handoff.as_ref().map(|handoff| (handoff, undo.as_slice()));
            prompt::complete(&of_tier, policy.structured_result, runner.dry_run, handoff)
        },
        settings: &installation.settings,
        hooks: hooks_of(&environment.project_dir),
        keep: (
            installation.policy.longest_window().max(installation.policy.keep),
            installation.policy.keep_mib,
        ),
        deadline: policy.deadline,
        environment: &environment,
        runner: &runner,
        inventory: &installation.inventory,
        parent: handoff.as_ref().and_then(|handoff| handoff.from_session.as_deref()),
        resumed: resumed.as_ref(),
        transcripts: transcripts(),
        verifier: None,
    };
    let has_agent_hook = session.hooks.as_ref().is_some_and(|hooks| hooks.to_string().contains(VERIFIER));
    let verifier = if has_agent_hook { None } else { verifier(tier, &installation, &runner)? };
    let session = Session { verifier, ..session };
    let voices = Voices { tell: &|line| print(&format!("{line}\n")), complain: &|line| complain(line) };
    let outcome = run::run(&session, &voices)?;
    Ok(if matches!(outcome, SessionOutcome::Completed | SessionOutcome::Waiting(_)) { OK } else { FAILED })
}

/// The verifier of sessions of a tier. At tier 1, nothing is acted on.
fn verifier(
    tier: Tier,
    installation: &Installation,
    runner: &RunnerEnvironment,
) -> Result<Option<Verifier>, Failure> {
    let Installation { policy, .. } = installation;
    if tier == Tier::Observe || policy.verify.mode == Some(Mode::Command) {
        return Ok(None);
    }
    let rights = policy.tier(Tier::Observe);
    let limits = tool_limits(runner, Tier::Observe, rights)?;
    let model = runner.model(Tier::Observe, rights);
    let mut arguments = client_arguments(rights, policy.rules.catalogue, model, None, limits);
    arguments.extend(["--json-schema".to_owned(), verifier::SCHEMA.to_owned()]);
    Ok(Some(Verifier {
        model: model.to_owned(),
        limits: arguments,
        prompt: prompts::verifier(installation, "opsctl")?,
        deadline: agent_timeout(&policy.verify),
    }))
}

fn answered(environment: &Environment) -> Result<u8, Failure> {
    for run in records::waiting_runs(environment, None, Utc::now())? {
        print(&format!("{} {}\n", run.tier, run.session));
    }
    Ok(OK)
}

/// The session that waits for a person, with its transcript put back where the client finds it.
fn waiting(environment: &Environment, runner: &RunnerEnvironment, id: &str) -> Result<WaitingRun, Failure> {
    let run = records::waiting_runs(environment, Some(id), Utc::now())?.pop();
    let run = run.ok_or_else(|| {
        Failure::new(format!("no session `{id}` waits for a person; `opsctl approvals` lists those that do"))
    })?;
    if run.tier > runner.max_tier.number() {
        return Err(Failure::new(format!(
            "the session is of tier {}, and CLAUDEOPS_MAX_TIER is {}; raise it, or refuse the question",
            run.tier,
            runner.max_tier.number()
        )));
    }
    let put = transcript::put_back(&transcripts(), &environment.state_dir, id, &run.waiting.transcript);
    if let Err(error) = &put {
        Record::give_up(environment, &run, &error.to_string(), Utc::now())?;
        transcript::remove(&environment.state_dir, id);
    }
    put.map(|()| run).map_err(|error| Failure::new(format!("the session cannot go on: {error}")))
}

/// The folder of the client's transcripts.
fn transcripts() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    transcript::projects(folder("CLAUDE_CONFIG_DIR"), folder("HOME"))
}

/// The hooks of the project's settings; `None` if there are none, as where they are in managed settings.
fn hooks_of(project: &Path) -> Option<Value> {
    let text = plain_file::bytes(&project.join(SETTINGS)).ok()?;
    serde_json::from_slice::<Value>(&text).ok()?.get_mut("hooks").map(Value::take)
}
