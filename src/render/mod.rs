//! From the installation to the files that the client reads. Rendering is pure; `write` does the rest.

pub mod files;
pub mod settings;
mod views;

use std::path::PathBuf;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};

use crate::inventory::compiled::{Compiled, CompiledError};
use crate::model::policy::OnFailure;
use crate::runtime::installation::COMPILED_POLICY;

/// Below the folder that is rendered to.
pub const SETTINGS: &str = ".claude/settings.json";
/// The prompt of the agent that verifies remediations, for people to read; the client gets it inline.
pub const VERIFY_REMEDIATION: &str = ".claude/hooks/verify-remediation.md";

/// The tools whose input is a shell command.
const SHELL_TOOLS: &str = "Bash|Monitor";

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

/// Renders every file. `settings` is what stands in `settings.json` now; its keys that are not this
/// program's stay. `opsctl` is the command that the hooks call.
pub fn render(
    compiled: &Compiled,
    settings: &settings::Existing,
    opsctl: &str,
) -> Result<Vec<Rendered>, RenderError> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    templates.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    templates.add_template("settings.json", include_str!("../../templates/settings.json.j2"))?;
    templates
        .add_template("verify-remediation.md", include_str!("../../templates/verify-remediation.md.j2"))?;

    let prompt = templates.get_template("verify-remediation.md")?.render(
        context! { services => Value::from(Serde(views::services(&compiled.installation.inventory))) },
    )?;
    let on_failure = match compiled.installation.policy.on_failure {
        OnFailure::Open => "open",
        OnFailure::Closed => "closed",
    };
    let own = templates.get_template("settings.json")?.render(context! {
        opsctl,
        shell_tools => SHELL_TOOLS,
        verify_remediation => &prompt,
        policy => context! { on_failure },
    })?;
    let own = serde_json::from_str(&own).map_err(RenderError::Settings)?;
    let file = |path: &str, text: String| Rendered { path: PathBuf::from(path), text };
    Ok(vec![
        file(SETTINGS, settings.with_hooks(own, opsctl).map_err(RenderError::Settings)?),
        file(VERIFY_REMEDIATION, prompt),
        file(COMPILED_POLICY, compiled.to_json()?),
    ])
}
