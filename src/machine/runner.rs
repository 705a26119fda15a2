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
    let allowed = text("CLAUDEOPS_ALLOWED_TOOLS").map(|list| tools_of_list(&list)).transpose();
    let allowed = allowed.map_err(|entry| ReplacedVariable::Tools {
        variable: "CLAUDEOPS_ALLOWED_TOOLS",
        entry,
        expected: "the name of a tool such as `Read`",
        key: "policy.tiers.N.tools",
    })?;
    let denied = text("CLAUDEOPS_DISALLOWED_TOOLS").map(|list| rules(&list)).transpose();
    let denied = denied.map_err(|entry| ReplacedVariable::Tools {
        variable: "CLAUDEOPS_DISALLOWED_TOOLS",
        entry,
        expected: "a tool such as `Write` or a rule such as `Bash(docker restart:*)`",
        key: "policy.tiers.N.deny",
    })?;
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

    fn environment(variables: &[(&str, &str)]) -> RunnerEnvironment {
        RunnerEnvironment::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn invalid_values_fall_back_to_the_safest_setting() {
        let environment = environment(&[
            ("CLAUDEOPS_MAX_TIER", "9"),
            ("CLAUDEOPS_DRY_RUN", "maybe"),
            ("CLAUDEOPS_TIER2_MODEL", "--dangerous"),
        ]);
        assert_eq!((environment.max_tier, environment.dry_run), (Tier::Observe, true));
        let policy = TierPolicy::default_of(Tier::Remediate);
        assert_eq!(environment.model(Tier::Remediate, &policy), "sonnet");
        assert_eq!(environment.warnings.len(), 3, "{:?}", environment.warnings);
    }

    #[test]
    fn variables_of_the_published_runtime_are_limits_or_errors() {
        let limited = environment(&[
            ("CLAUDEOPS_ALLOWED_TOOLS", "Bash, Read"),
            ("CLAUDEOPS_DISALLOWED_TOOLS", "Bash(docker restart:*),Bash(docker stop:*)"),
            ("CLAUDEOPS_PROMPT", "/p.md"),
            ("CLAUDEOPS_TIER1_PROMPT", "/p.md"),
        ]);
        let limits = limited.limits().unwrap();
        assert_eq!(limits.allowed.as_ref().unwrap(), &["Bash", "Read"]);
        assert_eq!(limits.denied, ["Bash(docker restart:*)", "Bash(docker stop:*)"]);
        for (variable, value, words) in [
            ("CLAUDEOPS_ALLOWED_TOOLS", "Bash(git:*)", "policy.tiers.N.tools"),
            ("CLAUDEOPS_DISALLOWED_TOOLS", "docker restart", "policy.tiers.N.deny"),
            ("CLAUDEOPS_PROMPT", "/p.md", "policy.tiers.1.prompt"),
        ] {
            let error = environment(&[(variable, value)]).limits().map(drop);
            let shown = error.clone().err().map(|error| error.to_string()).unwrap_or_default();
            assert!(shown.contains(variable) && shown.contains(words), "{variable}={value}: {error:?}");
        }
    }

    #[test]
    fn the_variables_of_a_tier_override_hosts_yaml() {
        let environment =
            environment(&[("CLAUDEOPS_TIER3_MODEL", "opus[1m]"), ("CLAUDEOPS_TIER3_PROMPT", "/p.md")]);
        let policy = TierPolicy { prompt: Some("/q.md".into()), ..TierPolicy::default_of(Tier::Full) };
        assert_eq!(environment.model(Tier::Full, &policy), "opus[1m]");
        assert_eq!(environment.prompt(Tier::Full, &policy), Some(&"/p.md".into()));
        assert_eq!(environment.prompt(Tier::Observe, &policy), Some(&"/q.md".into()));
        assert!(!environment.dry_run && environment.max_tier == Tier::Full);
    }
}
