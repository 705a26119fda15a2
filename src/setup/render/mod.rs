//! Renders the files that the client reads. Rendering is pure; `output` reads and writes files.

pub mod egress;
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

use minijinja::context;
use minijinja::value::{Serde, Value};

use crate::machine::installation::COMPILED_POLICY;
use opsctl_inventory::compiled::{Compiled, CompiledError};
use opsctl_policy::model::installation::checks::Verifier;
use opsctl_policy::model::rights::policy::{OnFailure, Tier};

/// The project's settings, relative to the output folder.
pub const SETTINGS: &str = ".claude/settings.json";
/// The project's local settings, relative to the output folder.
pub const LOCAL_SETTINGS: &str = ".claude/settings.local.json";
/// The machine's managed settings.
pub const MANAGED: &str = "/etc/claude-code/managed-settings.json";
/// The prompt of the verification agent, relative to the output folder. It is for people; the client gets it inline.
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
    let services = Value::from(Serde(views::services(&compiled.installation.inventory)));
    let templates = templates::environment()?;
    let verifier = templates.get_template("verify-remediation.md")?;
    let prompt = verifier.render(context! { opsctl, services, listed_in => () })?;
    // The managed settings of an image may be older than hosts.yaml, so the list of services is read from a file.
    let inline = match managed {
        None => prompt.clone(),
        Some(_) => verifier.render(context! { opsctl, services => (), listed_in => VERIFY_REMEDIATION })?,
    };
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
        verify_remediation => &inline,
        policy => context! { on_failure, redact_output => compiled.installation.policy.redact_output },
        verify => verifiers(compiled),
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
fn verifiers(compiled: &Compiled) -> Value {
    let verify = &compiled.installation.policy.verify;
    // A session of tier 1 changes nothing, so the command is enough. Without a tier, sessions of any tier may use the files.
    let mode = verify.mode.unwrap_or(match compiled.tier {
        Some(Tier::Observe) => Verifier::Command,
        _ => Verifier::Both,
    });
    let deadline = verify.deadline.delta().num_seconds();
    context! {
        agent => mode != Verifier::Command,
        // After the deadline the hook may have to wait for the ledger.
        command_timeout => deadline + 30,
        // The agent runs the checks, and possibly further ones.
        agent_timeout => deadline.max(60) + 60,
    }
}
