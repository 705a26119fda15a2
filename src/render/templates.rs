//! The template engine, set up for files of the client.

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

/// An environment without templates that takes no undefined value for an empty one.
pub fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    templates.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    Ok(templates)
}
