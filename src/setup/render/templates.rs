//! The templates of rendered files.

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

/// The templates, by the name of the file that they render, or by which another one includes them.
const TEMPLATES: [(&str, &str); 9] = [
    ("settings.json", include_str!("../../../templates/settings.json.j2")),
    ("verify-remediation.md", include_str!("../../../templates/verify-remediation.md.j2")),
    ("tier1-observe.md", include_str!("../../../templates/prompts/tier1-observe.md.j2")),
    ("tier2-remediate.md", include_str!("../../../templates/prompts/tier2-remediate.md.j2")),
    ("tier3-full.md", include_str!("../../../templates/prompts/tier3-full.md.j2")),
    ("inventory.md", include_str!("../../../templates/prompts/inventory.md.j2")),
    ("limits.md", include_str!("../../../templates/prompts/limits.md.j2")),
    ("report.md", include_str!("../../../templates/prompts/report.md.j2")),
    ("handover.md", include_str!("../../../templates/prompts/handover.md.j2")),
];

/// An engine that does not escape, and fails on undefined values.
pub fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    templates.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    TEMPLATES.into_iter().try_for_each(|(name, text)| templates.add_template(name, text))?;
    Ok(templates)
}
