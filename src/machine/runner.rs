//! Environment variables for running sessions. Of these, hooks use only the folder of the repositories.

use std::ffi::OsString;
use std::path::PathBuf;

use super::environment::{Environment, EnvironmentWarning, dry_run};
use opsctl_policy::model::rights::policy::{Tier, TierPolicy, is_model};
use opsctl_policy::model::rights::tool_limits::{ToolLimits, rules, tools_of_list};

/// The settings for running sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerEnvironment {
    /// `CLAUDEOPS_REPOS_DIR`: the folder of mounted repositories.
    pub repos_dir: PathBuf,
    /// `CLAUDEOPS_MAX_TIER`: the highest tier that a session may hand over to.
    pub max_tier: Tier,
    /// `CLAUDEOPS_DRY_RUN`: changes are denied and hand-overs are not followed.
    pub dry_run: bool,
    /// `CLAUDEOPS_CLIENT`: the client's program; `claude` in PATH by default.
    pub client: PathBuf,
    /// `CLAUDEOPS_MCP_BASELINE`: the file with the MCP servers that do not come from a repository.
    mcp_baseline: Option<PathBuf>,
    /// `CLAUDEOPS_ALLOWED_TOOLS` and `CLAUDEOPS_DISALLOWED_TOOLS`, or why no session may start with this environment.
    limits: Result<ToolLimits, ReplacedVariable>,
    /// `CLAUDEOPS_TIER1_MODEL`, `…2…`, `…3…`.
    models: [Option<String>; 3],
    /// `CLAUDEOPS_TIER1_PROMPT`, `…2…`, `…3…`.
    prompts: [Option<PathBuf>; 3],
    /// Problems with variables.
    pub warnings: Vec<EnvironmentWarning>,
}

/// A variable of the published Claude Ops runtime that opsctl cannot obey. No session starts with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplacedVariable {
    /// An entry of a list of tools is not a rule of the client.
    #[error(
        "{variable} contains `{entry}`, which is not {expected}; correct it, or unset it and use `{key}` in hosts.yaml"
    )]
    Tools {
        /// The variable.
        variable: &'static str,
        /// The entry.
        entry: String,
        /// What is expected instead.
        expected: &'static str,
        /// The key of `hosts.yaml` that replaces it.
        key: &'static str,
    },
    /// `CLAUDEOPS_PROMPT` states a prompt without its tier.
    #[error(
        "CLAUDEOPS_PROMPT is not used; unset it, and name the prompt file with CLAUDEOPS_TIER1_PROMPT, or with \
         `policy.tiers.1.prompt` in hosts.yaml"
    )]
    Prompt,
}

fn tool_limits(text: impl Fn(&str) -> Option<String>) -> Result<ToolLimits, ReplacedVariable> {
    type Read = fn(&str) -> Result<Vec<String>, String>;
    let listed = |variable, read: Read, expected, key| {
        let list = text(variable).map(|list| read(&list)).transpose();
        list.map_err(|entry| ReplacedVariable::Tools { variable, entry, expected, key })
    };
    let expected = "the name of a tool such as `Read`";
    let allowed = listed("CLAUDEOPS_ALLOWED_TOOLS", tools_of_list, expected, "policy.tiers.N.tools")?;
    let expected = "a tool such as `Write` or a rule such as `Bash(docker restart:*)`";
    let denied = listed("CLAUDEOPS_DISALLOWED_TOOLS", rules, expected, "policy.tiers.N.deny")?;
    let prompt = text("CLAUDEOPS_PROMPT");
    if prompt.is_some() && prompt != text("CLAUDEOPS_TIER1_PROMPT") {
        return Err(ReplacedVariable::Prompt);
    }
    Ok(ToolLimits { allowed, denied: denied.unwrap_or_default() })
}

impl RunnerEnvironment {
    /// Reads the environment of this process.
    pub fn of_process() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// Reads the variables through `get`. An empty variable counts as unset; an invalid one falls back to the safest
    /// setting, with a warning.
    pub fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let path = |name: &str| set(name).map(PathBuf::from);
        let text = |name: &str| set(name).map(|value| value.to_string_lossy().trim().to_owned());
        let mut warnings = Vec::new();
        let max_tier = text("CLAUDEOPS_MAX_TIER").map_or(Tier::Full, |tier| {
            tier.parse().ok().and_then(Tier::from_number).unwrap_or_else(|| {
                warnings.push(EnvironmentWarning::MaxTier(tier));
                Tier::Observe
            })
        });
        let dry_run = dry_run(text("CLAUDEOPS_DRY_RUN").as_deref(), &mut warnings);
        let models = Tier::ALL.map(|tier| {
            let name = format!("CLAUDEOPS_TIER{}_MODEL", tier.number());
            text(&name).filter(|model| {
                let good = is_model(model);
                if !good {
                    warnings.push(EnvironmentWarning::Model(name.clone()));
                }
                good
            })
        });
        Self {
            repos_dir: path("CLAUDEOPS_REPOS_DIR").unwrap_or_else(|| "/repos".into()),
            max_tier,
            dry_run,
            client: path("CLAUDEOPS_CLIENT").unwrap_or_else(|| "claude".into()),
            mcp_baseline: path("CLAUDEOPS_MCP_BASELINE"),
            limits: tool_limits(text),
            models,
            prompts: Tier::ALL.map(|tier| path(&format!("CLAUDEOPS_TIER{}_PROMPT", tier.number()))),
            warnings,
        }
    }

    /// The file with the MCP servers that do not come from a repository: `CLAUDEOPS_MCP_BASELINE`, else `.claude/mcp.json`
    /// of the project.
    pub fn mcp_baseline(&self, environment: &Environment) -> PathBuf {
        self.mcp_baseline.clone().unwrap_or_else(|| environment.project_dir.join(".claude/mcp.json"))
    }

    /// The limits on tools of the environment.
    pub fn limits(&self) -> Result<&ToolLimits, ReplacedVariable> {
        self.limits.as_ref().map_err(Clone::clone)
    }

    /// The model of a tier, from its variable, else from `hosts.yaml`.
    pub fn model<'a>(&'a self, tier: Tier, policy: &'a TierPolicy) -> &'a str {
        of_tier(&self.models, tier).as_deref().unwrap_or(&policy.model)
    }

    /// The configured prompt file of a tier, from its variable, else from `hosts.yaml`.
    pub fn prompt<'a>(&'a self, tier: Tier, policy: &'a TierPolicy) -> Option<&'a PathBuf> {
        of_tier(&self.prompts, tier).as_ref().or(policy.prompt.as_ref())
    }
}

fn of_tier<T>([one, two, three]: &[T; 3], tier: Tier) -> &T {
    match tier {
        Tier::Observe => one,
        Tier::Remediate => two,
        Tier::Full => three,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::environment::tests::check;
    use serde_json::json;

    #[test]
    fn settings_follow_from_the_variables() {
        let policy = TierPolicy { prompt: Some("/q.md".into()), ..TierPolicy::default_of(Tier::Remediate) };
        check(include_str!("runner.yaml"), |get| {
            let runner = RunnerEnvironment::from_variables(get);
            let limits = runner.limits().map(|limits| (&limits.allowed, &limits.denied));
            json!({
                "max_tier": runner.max_tier, "dry_run": runner.dry_run, "warnings": runner.warnings.len(),
                "models": Tier::ALL.map(|tier| runner.model(tier, &policy)),
                "prompts": Tier::ALL.map(|tier| runner.prompt(tier, &policy)),
                "limits": limits.map_err(|error| error.to_string()),
            })
        });
    }
}
