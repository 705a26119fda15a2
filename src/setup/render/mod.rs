//! Renders the files that the client reads. Rendering is pure; `output` reads and writes files.

pub mod clients;
pub mod egress;
pub mod kubernetes;
mod managed;
pub mod output;
mod own_hooks;
pub mod prompts;
pub mod settings;
mod templates;
#[cfg(test)]
mod tests;
pub mod tier_args;
mod views;
mod weakening;

pub use managed::merge;
pub use own_hooks::{
    GUARDING, first_unreadable, groups, has_readable_matcher, hooks, is_hook_readable, is_marked,
    serves_hooks,
};
pub use settings::{REPLACED, VERIFIER};
pub use weakening::Weakening;

use std::path::{Path, PathBuf};
use std::time::Duration;

use minijinja::context;
use minijinja::value::Value;

use crate::machine::installation::COMPILED_POLICY;
use opsctl_inventory::compiled::{Compiled, CompiledError};
use opsctl_policy::model::installation::checks::{Verification, Verifier};
use opsctl_policy::model::rights::policy::{OnFailure, Tier};

/// The project's settings, relative to the output folder.
pub const SETTINGS: &str = ".claude/settings.json";
/// The project's local settings, relative to the output folder.
pub const LOCAL_SETTINGS: &str = ".claude/settings.local.json";
/// The machine's managed settings.
pub const MANAGED: &str = "/etc/claude-code/managed-settings.json";
/// The prompt of the verifier of a model, relative to the output folder. It is for people: settings contain it inline.
pub const VERIFY_REMEDIATION: &str = ".claude/hooks/verify-remediation.md";

/// The tools whose input is a shell command.
const SHELL_TOOLS: &str = "Bash|Monitor|PowerShell";

/// The tools that read or write files.
const FILE_TOOLS: &str = "Write|Edit|MultiEdit|NotebookEdit|Read|Grep|Glob";

/// The tools whose output is searched for secrets, beside those of MCP servers.
const OUTPUT_TOOLS: &str = "Bash|Monitor|PowerShell|Read|Grep|TaskOutput|BashOutput";

/// Why nothing was rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A template is invalid, which is a bug in opsctl.
    #[error("a template of opsctl is broken: {0}")]
    Template(#[from] minijinja::Error),
    /// The policy could not be compiled.
    #[error(transparent)]
    Compiled(#[from] CompiledError),
    /// The output of the settings template is not JSON, which is a bug in opsctl.
    #[error("the settings template gave no JSON: {0}")]
    Settings(#[from] serde_json::Error),
    /// The built-in description of a client cannot be read, which is a bug in opsctl.
    #[error("the description of a client is broken: {0}")]
    Client(#[from] std::io::Error),
    /// The existing settings of a client are not a JSON object.
    #[error(
        "the existing settings of the client are not a JSON object ({0}); correct them or move them away"
    )]
    Existing(serde_json::Error),
    /// Settings of the machine that opsctl has not written.
    #[error("{0} was not written by opsctl; merge it by hand, or move it away")]
    Foreign(&'static str),
}

/// A rendered file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Its path, relative to the output folder or absolute.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// The input of a rendering.
pub struct Order<'a> {
    /// The inventory and the limits.
    pub compiled: &'a Compiled,
    /// The command that the hooks call.
    pub opsctl: &'a str,
    /// The project's existing settings, whose other keys are kept.
    pub settings: &'a settings::Existing,
    /// The machine's managed settings, if they get the hooks.
    pub managed: Option<Managed<'a>>,
}

/// Managed settings.
pub struct Managed<'a> {
    /// Their path.
    pub file: &'a Path,
    /// The existing managed settings.
    pub settings: &'a settings::Existing,
}

/// Renders every file.
pub fn render(order: &Order<'_>) -> Result<Vec<Rendered>, RenderError> {
    let &Order { compiled, opsctl, settings, ref managed } = order;
    let templates = templates::environment()?;
    let prompt = prompts::verifier(&compiled.installation, opsctl)?;
    let on_failure = match compiled.installation.policy.on_failure {
        OnFailure::Open => "open",
        OnFailure::Closed => "closed",
    };
    let tools = &compiled.installation.policy.rules.tools;
    let tools: String = tools.iter().map(|rule| format!("|{}", rule.tool)).collect();
    let own = templates.get_template("settings.json")?.render(context! {
        opsctl,
        tools,
        shell_tools => SHELL_TOOLS,
        file_tools => FILE_TOOLS,
        output_tools => OUTPUT_TOOLS,
        verify_remediation => &prompt,
        policy => context! { on_failure, redact_output => compiled.installation.policy.redact_output },
        verify => verifiers(compiled, managed.is_some()),
    })?;
    let mut own: serde_json::Value = serde_json::from_str(&own)?;
    own_hooks::add(&mut own, &compiled.installation.hooks)?;
    let file = |path: &str, text: String| Rendered { path: PathBuf::from(path), text };
    let mut files = match managed {
        None => vec![file(SETTINGS, settings.with_hooks(own, opsctl)?)],
        Some(managed) => {
            let text = managed.settings.as_managed(own.clone(), opsctl, &managed::denied(compiled))?;
            vec![
                Rendered { path: managed.file.to_owned(), text },
                file(SETTINGS, settings.without_hooks(&own, opsctl)?),
            ]
        }
    };
    files.push(file(VERIFY_REMEDIATION, prompt));
    for tier in Tier::ALL {
        files.push(file(prompts::path(tier), prompts::render(tier, &compiled.installation)?));
    }
    files.push(file(COMPILED_POLICY, compiled.to_json()?));
    Ok(files)
}

/// Which verification hooks are rendered, and their timeouts in seconds.
///
/// The client asks an agent hook at the end of every turn, also after a session that did nothing, and at every tier: managed settings, which
/// are for an image, leave the verification by a model to `opsctl session`.
fn verifiers(compiled: &Compiled, is_managed: bool) -> Value {
    let verify = &compiled.installation.policy.verify;
    // A session of tier 1 changes nothing, so the command is enough. Without a tier, sessions of any tier may use the files.
    let mode = verify.mode.unwrap_or(match compiled.tier {
        Some(Tier::Observe) => Verifier::Command,
        _ => Verifier::Both,
    });
    let deadline = verify.deadline.delta().num_seconds();
    context! {
        agent => mode != Verifier::Command && !is_managed,
        // After the deadline the hook may have to wait for the ledger.
        command_timeout => deadline + 30,
        agent_timeout => agent_timeout(verify).as_secs(),
    }
}

/// The timeout of a verification by a model: it runs the checks, and possibly further ones.
pub fn agent_timeout(verify: &Verification) -> Duration {
    verify.deadline.duration().max(Duration::from_mins(1)) + Duration::from_mins(1)
}
