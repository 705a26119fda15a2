//! The context files of sessions, and the context windows of models.

use serde::{Deserialize, Serialize};

use crate::model::rights::policy::Tier;

/// The context files as listed in `hosts.yaml`: paths and globs, absolute or relative to the project, with `${NAME}` for
/// variables.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContextPolicy {
    /// The entries for all sessions.
    pub files: Vec<String>,
    /// The entries for tiers 1, 2 and 3.
    pub tiers: [Vec<String>; 3],
    /// The entries for roles.
    pub roles: Vec<Role>,
    /// The folder of role files; [`ContextPolicy::ROLE_FOLDER`] by default.
    pub role_folder: Option<String>,
    /// Context windows in tokens, by the beginning of the model's name.
    #[serde(skip)]
    pub windows: Vec<(String, u32)>,
}

/// The context of sessions with a role.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Role {
    /// The role's name: `CLAUDE_SESSION_ROLE` of its sessions.
    pub name: String,
    /// Its role file; `NAME.md` in the role folder by default.
    pub file: Option<String>,
    /// Further entries.
    pub files: Vec<String>,
}

impl ContextPolicy {
    /// The default folder of role files.
    pub const ROLE_FOLDER: &str = ".claude/roles";

    /// The role with this name, if it is configured.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// The path of the role file for a role name.
    pub fn role_file(&self, name: &str) -> String {
        let named = self.role(name).and_then(|role| role.file.clone());
        named.unwrap_or_else(|| {
            let folder = self.role_folder.as_deref().unwrap_or(Self::ROLE_FOLDER);
            format!("{}/{name}.md", folder.trim_end_matches('/'))
        })
    }

    /// Globs of the role files outside the default folder, which the agent must not write.
    pub fn role_globs(&self) -> Vec<String> {
        let folder = self.role_folder.iter().map(|folder| format!("{}/**", folder.trim_end_matches('/')));
        let files = self.roles.iter().filter_map(|role| role.file.clone());
        // Paths with variables are not known yet.
        folder.chain(files).filter(|glob| !glob.contains("${")).collect()
    }

    /// The entries for a session of the tier.
    pub fn of_tier(&self, tier: Option<Tier>) -> Vec<&str> {
        let own = tier.into_iter().flat_map(|tier| tier.of(&self.tiers));
        self.files.iter().chain(own).map(String::as_str).collect()
    }
}

/// The maximum length of a role name, in bytes.
const LONGEST_ROLE: usize = 64;

/// Whether this is a valid role name. It becomes a file name, so it must not contain a path.
pub fn is_role(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= LONGEST_ROLE
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}
