//! The shape of `context`.

use crate::spanned::Spanned;
use serde::Deserialize;

use super::forms::Entries;
use super::values::{FileEntry, Text};

/// Files that sessions load when they start; see [context.md](context.md).
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContextWire {
    /// Files for every session: paths and globs, absolute or relative to the project. `${NAME}` expands to an environment variable.
    pub files: Vec<Text<FileEntry>>,
    /// Additional files for the tiers `1`, `2` and `3`.
    pub tiers: Option<Entries<Vec<Text<FileEntry>>>>,
    /// Files for sessions with a role, by the name in `CLAUDE_SESSION_ROLE`.
    pub roles: Option<Entries<RoleWire>>,
    /// Folder of role files. Default: `.claude/roles`.
    pub role_folder: Option<Text<FileEntry>>,
    /// Context windows in tokens, 1000 to 100000000, by model name or prefix. The windows of Anthropic's models are built in.
    pub windows: Option<Entries<Spanned<u32>>>,
}

/// Files for sessions with this role.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RoleWire {
    /// Role file. Default: NAME.md in `role_folder`.
    pub file: Option<Text<FileEntry>>,
    /// Additional files, besides those that the role file lists under `auto_include`.
    pub files: Vec<Text<FileEntry>>,
}
