//! The variables that the container sets, read once.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use crate::model::mode::Mode;
use crate::model::policy::Tier;

/// What the environment says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// `CLAUDEOPS_HOSTS`: the inventory, when it is not at one of the usual places.
    pub hosts: Option<PathBuf>,
    /// `CLAUDEOPS_STATE_DIR`: the folder of `cooldown.json`.
    pub state_dir: PathBuf,
    /// `CLAUDEOPS_DB_PATH`: the ledger.
    pub db_path: PathBuf,
    /// `CLAUDEOPS_TIER`: the tier of this session; no tier gate without it.
    pub tier: Option<Tier>,
    /// `CLAUDE_SESSION_MODE`: how this session is led; without it, only its tier decides whom it may write to.
    pub mode: Option<Mode>,
    /// `CLAUDEOPS_APPRISE_URLS`: where notifications go.
    pub apprise_urls: Option<String>,
    /// `CLAUDEOPS_APPRISE_CONFIG`: a configuration file of apprise, where there are no URLs.
    pub apprise_config: Option<PathBuf>,
    /// `CLAUDEOPS_DRY_RUN`: nothing is changed; what would be is denied.
    pub dry_run: bool,
    /// `CLAUDE_SESSION_ID`: the session's id, as the one who started it calls it.
    pub session: Option<String>,
    /// `CLAUDE_SESSION_ROLE`: the role of this session, which has files of its own.
    pub role: Option<String>,
    /// `CLAUDE_CODE_SESSION_ID`: the session in whose shell this process runs, as the client calls it.
    pub client_session: Option<String>,
    /// `CLAUDE_PROJECT_DIR`: the folder whose `.claude` holds the rendered policy.
    pub project_dir: PathBuf,
    /// When it was read: the beginning of this process's work.
    pub started: Instant,
    /// What is wrong with a variable, a line each.
    pub complaints: Vec<String>,
}

impl Environment {
    /// Reads the process's own environment.
    pub fn of_process() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// Reads the variables through `get`. An empty variable counts as unset.
    pub fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let path = |name: &str| set(name).map(PathBuf::from);
        let text = |name: &str| set(name).map(|value| value.to_string_lossy().into_owned());
        let mut complaints = Vec::new();
        let tier = text("CLAUDEOPS_TIER").map(|tier| {
            tier.trim().parse().ok().and_then(Tier::from_number).unwrap_or_else(|| {
                complaints.push(format!(
                    "CLAUDEOPS_TIER is `{tier}`, not 1, 2 or 3; holding this session to tier 1"
                ));
                Tier::Observe
            })
        });
        let mode = text("CLAUDE_SESSION_MODE").map(|mode| mode_named(&mode, &mut complaints));
        let dry_run = dry_run(text("CLAUDEOPS_DRY_RUN").as_deref(), &mut complaints);
        let state_dir = path("CLAUDEOPS_STATE_DIR").unwrap_or_else(|| "/state".into());
        Self {
            hosts: path("CLAUDEOPS_HOSTS"),
            db_path: path("CLAUDEOPS_DB_PATH").unwrap_or_else(|| state_dir.join("claudeops.db")),
            state_dir,
            tier,
            mode,
            apprise_urls: text("CLAUDEOPS_APPRISE_URLS").filter(|urls| !urls.trim().is_empty()),
            apprise_config: path("CLAUDEOPS_APPRISE_CONFIG"),
            dry_run,
            session: text("CLAUDE_SESSION_ID"),
            role: text("CLAUDE_SESSION_ROLE"),
            client_session: text("CLAUDE_CODE_SESSION_ID"),
            project_dir: path("CLAUDE_PROJECT_DIR").unwrap_or_else(|| ".".into()),
            started: Instant::now(),
            complaints,
        }
    }

    /// The session that a command runs in, where there is one: an agent's, not a person's.
    pub fn shell_session(&self) -> Option<&str> {
        self.session.as_deref().or(self.client_session.as_deref())
    }

    /// The merged MCP servers in the state folder.
    pub fn mcp_config(&self) -> PathBuf {
        self.state_dir.join("mcp.json")
    }

    /// `cooldown.json` in the state folder.
    pub fn cooldown_file(&self) -> PathBuf {
        self.state_dir.join("cooldown.json")
    }
}

/// A word that is stored and shown: no control characters, and not without end.
pub fn plain_word(word: &str) -> Option<String> {
    let word: String = word.chars().filter(|c| !c.is_control()).take(200).collect();
    Some(word).filter(|word| !word.is_empty())
}

/// The mode of this name; one that is not known is the strictest.
fn mode_named(name: &str, complaints: &mut Vec<String>) -> Mode {
    Mode::named(&name.trim().to_lowercase()).unwrap_or_else(|| {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        complaints.push(format!(
            "CLAUDE_SESSION_MODE is `{shown}`, not interactive, mission or background; holding this session to background"
        ));
        Mode::Background
    })
}

/// What `CLAUDEOPS_DRY_RUN` says; what cannot be read is the careful answer.
pub fn dry_run(value: Option<&str>, complaints: &mut Vec<String>) -> bool {
    match value.map(|value| value.trim().to_lowercase()).as_deref() {
        None | Some("" | "false" | "0" | "no" | "off") => false,
        Some("true" | "1" | "yes" | "on") => true,
        Some(other) => {
            complaints.push(format!("CLAUDEOPS_DRY_RUN is `{other}`, not true or false; this is a dry run"));
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_defaults_are_those_of_the_container() {
        let environment = environment(&[("CLAUDEOPS_APPRISE_URLS", " ")]);
        assert_eq!(environment.db_path, PathBuf::from("/state/claudeops.db"));
        assert_eq!((environment.tier, environment.apprise_urls, environment.dry_run), (None, None, false));
        assert_eq!(environment.mode, None);
    }

    #[test]
    fn a_mode_that_is_not_known_is_the_strictest_and_said_so() {
        assert_eq!(environment(&[]).mode, None);
        assert_eq!(environment(&[("CLAUDE_SESSION_MODE", " Mission ")]).mode, Some(Mode::Mission));
        let environment = environment(&[("CLAUDE_SESSION_MODE", "inter\nactive")]);
        assert_eq!(environment.mode, Some(Mode::Background));
        assert!(environment.complaints[0].starts_with("CLAUDE_SESSION_MODE is `interactive`, not"));
    }

    #[test]
    fn a_tier_that_cannot_be_read_is_the_strictest_and_said_so() {
        let environment = environment(&[("CLAUDEOPS_TIER", "nine")]);
        assert_eq!(environment.tier, Some(Tier::Observe));
        assert!(environment.complaints[0].contains("CLAUDEOPS_TIER is `nine`"));
    }
}
