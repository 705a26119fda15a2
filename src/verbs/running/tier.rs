//! `opsctl tier`: shows the rights of a tier.

use clap::Args;
use serde_json::json;

use crate::machine::environment::{Environment, EnvironmentWarning};
use crate::machine::installation;
use crate::machine::runner::RunnerEnvironment;
use crate::machine::warning::Warning;
use crate::sessions::mcp;
use crate::setup::render::prompts;
use crate::setup::render::tier_args::client_arguments;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, Text, complain, complain_all, print, print_json};
use opsctl_policy::model::rights::policy::{Tier, TierPolicy};
use opsctl_policy::model::rights::tool_limits::ToolLimits;
use opsctl_policy::rules::prefixes;

/// Show the rights of a tier, or print the client's arguments for it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl tier 1
  opsctl tier 2 --args             # one argument per line
  opsctl tier 2 --args --null | xargs -0 claude -p 'Repair jellyfin.'
  (IFS='
  '; set -f; claude -p 'Look around.' $(opsctl tier 1 --args))")]
pub struct TierArgs {
    /// The tier
    #[arg(value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    tier: u8,
    /// Print the client's arguments
    #[arg(long)]
    args: bool,
    /// With --args: end each argument with a NUL byte instead of a line break
    #[arg(long, requires = "args", conflicts_with = "json")]
    null: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::reads("tier")];

/// Runs the verb.
pub fn run(args: &TierArgs) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    let runner = RunnerEnvironment::of_process();
    let mut warnings = Warning::of_environment(&runner.warnings);
    let policy = installation::in_force(&environment, &mut warnings).installation.policy;
    complain_all(warnings);
    // The argument parser accepts only 1 to 3.
    let tier = Tier::from_number(args.tier).unwrap_or(Tier::Observe);
    let tier_policy = policy.tier(tier);
    let model = runner.model(tier, tier_policy);
    let limits = tool_limits(&runner, tier, tier_policy)?;
    let tools = limits.remaining(&tier_policy.tools);
    if args.args {
        let servers = servers_of(&environment, tier, &tools);
        let arguments =
            client_arguments(tier_policy, policy.rules.catalogue, model, servers.as_deref(), limits);
        if args.json {
            return print_json(&json!({ "arguments": arguments }));
        }
        let end = if args.null { '\0' } else { '\n' };
        print(Text::records(&arguments, end));
        return Ok(OK);
    }
    let prompt = runner.prompt(tier, tier_policy);
    let prompt = prompt.map_or_else(|| prompts::path(tier).to_owned(), |file| file.display().to_string());
    let mut deny = prefixes::denied(tier_policy, policy.rules.catalogue);
    deny.extend(limits.denied.iter().cloned());
    if args.json {
        return print_json(&json!({
            "tier": tier.number(),
            "model": model,
            "tools": tools,
            "allow": tier_policy.allow.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
            "deny": deny,
            "deadline_seconds": tier_policy.deadline.delta().num_seconds(),
            "prompt": prompt,
        }));
    }
    let allow: Vec<String> = tier_policy.allow.iter().map(|kind| kind.in_words() + "s").collect();
    let or_none = |words: String| if words.is_empty() { "nothing".to_owned() } else { words };
    print(&format!(
        "tier {}\n  model     {model}\n  tools     {}\n  may do    {}\n  denied    {}\n  deadline  {}\n  prompt    {prompt}\n",
        tier.number(),
        or_none(tools.join(", ")),
        or_none(allow.join(", ")),
        prefixes_denied(deny.len()),
        tier_policy.deadline,
    ));
    Ok(OK)
}

/// The file with the MCP servers that the tools of a tier name; `None` without a server. If it cannot be written, the
/// session gets no servers, with a warning.
pub fn servers_of(environment: &Environment, tier: Tier, tools: &[String]) -> Option<String> {
    let file = mcp::tier::write(&environment.mcp_config(), tier, tools);
    file.unwrap_or_else(|error| {
        complain(error);
        None
    })
    .map(|file| file.to_string_lossy().into_owned())
}

/// The limits on tools of the environment, with a warning about allowed tools that the tier does not have.
pub fn tool_limits<'a>(
    runner: &'a RunnerEnvironment,
    tier: Tier,
    policy: &TierPolicy,
) -> Result<&'a ToolLimits, Failure> {
    let limits = runner.limits()?;
    let more = limits.without_effect(&policy.tools);
    if !more.is_empty() {
        complain(EnvironmentWarning::AllowedTools { tools: more.join(", "), tier: tier.number() });
    }
    Ok(limits)
}

/// The number of prefixes that the client denies without asking the hooks.
fn prefixes_denied(number: usize) -> String {
    match number {
        0 => "nothing".to_owned(),
        _ => format!(
            "commands with one of {number} prefixes (`--json` lists them); hooks decide on the others"
        ),
    }
}
