//! The template engine for rendered files.

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

/// An engine without templates that does not escape, and fails on undefined values.
pub fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    templates.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    Ok(templates)
}
