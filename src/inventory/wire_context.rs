//! The shape of `context:` in `hosts.yaml`.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::wire::Entries;

/// What sessions are given to read at their start; [context.md](context.md) tells more.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContextWire {
    /// Files of every session: paths and globs, absolute or below the project; `${NAME}` is a variable.
    pub files: Vec<Spanned<String>>,
    /// More files of the tiers `1`, `2` and `3`.
    pub tiers: Option<Entries<Vec<Spanned<String>>>>,
    /// What sessions with a role are given, by the name in `CLAUDE_SESSION_ROLE`.
    pub roles: Option<Entries<RoleWire>>,
    /// The folder of role files; `.claude/roles` unless given.
    pub role_folder: Option<Spanned<String>>,
    /// The windows of models, in tokens, by the model's name or its beginning; those of Anthropic's are known.
    pub windows: Option<Entries<Spanned<u32>>>,
}

/// What sessions with this role are given.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RoleWire {
    /// Its role file; NAME.md in the folder of role files unless given.
    pub file: Option<Spanned<String>>,
    /// More files, beside those that the role file declares with `auto_include`.
    pub files: Vec<Spanned<String>>,
}
