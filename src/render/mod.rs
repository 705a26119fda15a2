//! From the installation to the files that the client reads. Rendering is pure; `write` does the rest.

mod managed;
pub mod output;
mod own_hooks;
pub mod prompts;
pub mod settings;
mod templates;
pub mod tier_args;
mod views;

pub use own_hooks::{has_readable_matcher, is_hook_readable, is_marked, is_readable};
pub use settings::VERIFIER;

use std::path::{Path, PathBuf};

use minijinja::context;
use minijinja::value::{Serde, Value};

use crate::inventory::compiled::{Compiled, CompiledError};
use crate::model::checks::Verifier;
use crate::model::policy::{OnFailure, Tier};
use crate::runtime::installation::COMPILED_POLICY;

/// Below the folder that is rendered to.
pub const SETTINGS: &str = ".claude/settings.json";
/// Where the client looks for settings that hold on the whole machine.
pub const MANAGED: &str = "/etc/claude-code/managed-settings.json";
/// The prompt of the agent that verifies remediations, for people to read; the client gets it inline.
pub const VERIFY_REMEDIATION: &str = ".claude/hooks/verify-remediation.md";

/// The tools whose input is a shell command.
const SHELL_TOOLS: &str = "Bash|Monitor|PowerShell";

/// The tools that open files themselves.
const FILE_TOOLS: &str = "Write|Edit|MultiEdit|NotebookEdit|Read|Grep|Glob";

/// Why nothing was rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A template is wrong. It is part of this program, so this is its defect.
    #[error("a template of opsctl is broken: {0}")]
    Template(#[from] minijinja::Error),
    /// The policy could not be compiled.
    #[error(transparent)]
    Compiled(#[from] CompiledError),
    /// What a template gave is not JSON. This is a defect of this program, too.
    #[error("the settings template gave no JSON: {0}")]
    Settings(serde_json::Error),
}

/// A file to be written, below the folder that is rendered to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Where.
    pub path: PathBuf,
    /// Its whole text.
    pub text: String,
}

/// What is to be rendered.
pub struct Order<'a> {
    /// The inventory and the limits.
    pub compiled: &'a Compiled,
    /// The command that the hooks call.
    pub opsctl: &'a str,
    /// What stands in the project's settings now; its keys that are not this program's stay.
    pub settings: &'a settings::Existing,
    /// The machine's managed settings, when they are to hold the hooks.
    pub managed: Option<Managed<'a>>,
}

/// The settings that no project and no user can override.
pub struct Managed<'a> {
    /// Where.
    pub file: &'a Path,
    /// What stands in them now.
    pub settings: &'a settings::Existing,
}

/// Renders every file.
pub fn render(order: &Order<'_>) -> Result<Vec<Rendered>, RenderError> {
    let &Order { compiled, opsctl, settings, ref managed } = order;
    let services = Value::from(Serde(views::services(&compiled.installation.inventory)));
    let mut templates = templates::environment()?;
    templates.add_template("settings.json", include_str!("../../templates/settings.json.j2"))?;
    templates
        .add_template("verify-remediation.md", include_str!("../../templates/verify-remediation.md.j2"))?;
    let verifier = templates.get_template("verify-remediation.md")?;
    let prompt = verifier.render(context! { opsctl, services, listed_in => () })?;
    // The managed settings of an image outlive its hosts.yaml: what depends on the services is read anew.
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
        verify_remediation => &inline,
        policy => context! { on_failure },
        verify => verifiers(compiled),
    })?;
    let mut own: serde_json::Value = serde_json::from_str(&own).map_err(RenderError::Settings)?;
    own_hooks::add(&mut own, &compiled.installation.hooks).map_err(RenderError::Settings)?;
    let file = |path: &str, text: String| Rendered { path: PathBuf::from(path), text };
    let mut files = match managed {
        None => vec![file(SETTINGS, settings.with_hooks(own, opsctl).map_err(RenderError::Settings)?)],
        Some(managed) => {
            let text = managed
                .settings
                .as_managed(own.clone(), opsctl, &managed::denied(compiled))
                .map_err(RenderError::Settings)?;
            vec![
                Rendered { path: managed.file.to_owned(), text },
                file(SETTINGS, settings.without_hooks(&own, opsctl).map_err(RenderError::Settings)?),
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

/// Who verifies at the end of a session, and how long the client waits for them.
fn verifiers(compiled: &Compiled) -> Value {
    let verify = &compiled.installation.policy.verify;
    // A session of tier 1 changes nothing, so no model need be asked. Where no tier is named, any may come.
    let mode = verify.mode.unwrap_or(match compiled.tier {
        Some(Tier::Observe) => Verifier::Command,
        _ => Verifier::Both,
    });
    let deadline = verify.deadline.delta().num_seconds();
    context! {
        agent => mode != Verifier::Command,
        // Beyond the deadline there is the ledger to wait for.
        command_timeout => deadline + 30,
        // The agent runs the same checks, and perhaps some of its own.
        agent_timeout => deadline.max(60) + 60,
    }
}
