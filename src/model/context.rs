//! What a session is given to read at its start, and how large the window of its model is.

use super::policy::Tier;

/// The files that sessions are given, as the operator lists them: paths and globs, absolute or below the project, in
/// which `${NAME}` stands for a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContextPolicy {
    /// Every session's.
    pub files: Vec<String>,
    /// Those of tiers 1, 2 and 3.
    pub tiers: [Vec<String>; 3],
    /// Those of sessions with a role.
    pub roles: Vec<Role>,
    /// The folder of the role files that no role names; [`ContextPolicy::ROLE_FOLDER`] unless given.
    pub role_folder: Option<String>,
    /// The windows of models that are not known, in tokens, by how the model's name begins.
    pub windows: Vec<(String, u32)>,
}

/// What sessions with a role are given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Role {
    /// The role's name: `CLAUDE_SESSION_ROLE` of its sessions.
    pub name: String,
    /// Its role file; NAME.md in the folder of role files unless given.
    pub file: Option<String>,
    /// More files.
    pub files: Vec<String>,
}

impl ContextPolicy {
    /// Where role files are looked for.
    pub const ROLE_FOLDER: &str = ".claude/roles";

    /// The role of this name, where the operator says something of it.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// The role file of a name.
    pub fn role_file(&self, name: &str) -> String {
        let named = self.role(name).and_then(|role| role.file.clone());
        named.unwrap_or_else(|| {
            let folder = self.role_folder.as_deref().unwrap_or(Self::ROLE_FOLDER);
            format!("{}/{name}.md", folder.trim_end_matches('/'))
        })
    }

    /// Globs of the role files that lie elsewhere than usual: the agent does not write what its next session is told.
    pub fn role_globs(&self) -> Vec<String> {
        let folder = self.role_folder.iter().map(|folder| format!("{}/**", folder.trim_end_matches('/')));
        let files = self.roles.iter().filter_map(|role| role.file.clone());
        // Where a variable leads is not known yet.
        folder.chain(files).filter(|glob| !glob.contains("${")).collect()
    }

    /// What every session of the tier is given.
    pub fn of_tier(&self, tier: Option<Tier>) -> Vec<&str> {
        let own: &[String] = match (tier, &self.tiers) {
            (None, _) => &[],
            (Some(Tier::Observe), [one, _, _]) => one,
            (Some(Tier::Remediate), [_, two, _]) => two,
            (Some(Tier::Full), [_, _, three]) => three,
        };
        self.files.iter().chain(own).map(String::as_str).collect()
    }
}

/// The longest name of a role.
const LONGEST_ROLE: usize = 64;

/// Whether this can be the name of a role: it becomes the name of a file, so it holds no path.
pub fn is_role(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= LONGEST_ROLE
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_no_path() {
        for name in ["", "..", "../x", "a/b", ".hidden", "a b", "a\0", "ä", &"x".repeat(65)] {
            assert!(!is_role(name), "{name:?}");
        }
        assert!(is_role("chief") && is_role("night-watch_2.0"));
    }

    #[test]
    fn a_role_file_is_the_one_that_is_named_or_lies_in_the_folder() {
        let mut policy = ContextPolicy::default();
        assert_eq!(policy.role_file("chief"), ".claude/roles/chief.md");
        policy.role_folder = Some("/srv/roles/".into());
        let named = Role { name: "chief".into(), file: Some("CHIEF.md".into()), files: vec![] };
        policy.roles.push(named);
        assert_eq!(policy.role_file("chief"), "CHIEF.md");
        assert_eq!(policy.role_file("other"), "/srv/roles/other.md");
    }
}
