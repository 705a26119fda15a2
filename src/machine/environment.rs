//! The environment variables that hooks and verbs read, read once per process.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use thiserror::Error;

use crate::machine::link::address;
use crate::machine::link::address::Address;
use opsctl_ledger::{Location, Place, ServerAddress};
use opsctl_machine::held_variables::variable;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_reader::terms::mode::Mode;

/// The settings of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Environment {
    /// `CLAUDEOPS_HOSTS`: the inventory; by default one of the usual paths.
    pub hosts: Option<PathBuf>,
    /// Whether the compiled policy below `project_dir` is ignored, so that the inventory itself is in force.
    pub ignore_compiled: bool,
    /// Whether this machine is a host that sessions reach, and not the one of the agent.
    pub is_host: bool,
    /// `CLAUDEOPS_STATE_DIR`: the folder of `cooldown.json`; by default `/state` of a container, else that of the XDG Base
    /// Directory Specification, `~/.local/state/opsctl`.
    pub state_dir: PathBuf,
    /// Whether the state folder is in the user's home, and may be created.
    pub owns_state_dir: bool,
    /// `CLAUDEOPS_DB_URL`: the ledger on a server; else `CLAUDEOPS_DB_PATH`: its file. `CLAUDEOPS_AGENT`: the name of the agent
    /// in its rows.
    pub ledger: Location,
    /// `CLAUDEOPS_RESULTS_DIR`: the folder for results of sessions.
    pub results: Option<PathBuf>,
    /// `CLAUDEOPS_TIER`: the tier of this session; without it, no tier gate.
    pub tier: Option<Tier>,
    /// Whether `CLAUDEOPS_TIER` is set to an empty text, which counts as unset.
    pub is_tier_blank: bool,
    /// `CLAUDE_SESSION_MODE`: the mode of this session; without it, only its tier limits messages.
    pub mode: Option<Mode>,
    /// `CLAUDEOPS_APPRISE_URLS`: where notifications go.
    pub apprise_urls: Option<String>,
    /// `CLAUDEOPS_APPRISE_CONFIG`: a configuration file of apprise; used if there are no URLs.
    pub apprise_config: Option<PathBuf>,
    /// `CLAUDEOPS_GUARD`: the guard that serves this process; without it, this process serves itself.
    pub guard: Option<Address>,
    /// In the guard: the folders that differ between it and the session.
    pub served: Option<ServedFolders>,
    /// `OPSCTL_NOTIFY_SOCKET`: the socket of the process that runs this session and knows where notifications go.
    pub notify_socket: Option<String>,
    /// `CLAUDEOPS_APPROVAL_KEY`: the file of the private key that signs answers to questions.
    pub approval_key: Option<PathBuf>,
    /// `CLAUDEOPS_DESK_URL`: the public address of the desk, the page on which persons answer questions.
    pub desk_url: Option<String>,
    /// `CLAUDEOPS_NTFY_ACTIONS`: notifications of questions through ntfy have buttons that answer them.
    pub ntfy_actions: bool,
    /// `CLAUDEOPS_DRY_RUN`: commands that are not proved to only read are denied.
    pub dry_run: bool,
    /// `CLAUDE_SESSION_ID`: the session's id, set by the program that started it.
    pub session: Option<String>,
    /// `CLAUDE_SESSION_ROLE`: the role of this session, which selects its context files.
    pub role: Option<String>,
    /// `CLAUDE_CODE_SESSION_ID`: the client's id of the session in whose shell this process runs.
    pub client_session: Option<String>,
    /// `CLAUDE_PROJECT_DIR`: the folder whose `.claude` contains the rendered policy.
    pub project_dir: PathBuf,
    /// When the environment was read: the start of this process's work.
    pub started: Instant,
    /// Problems with variables.
    pub warnings: Vec<EnvironmentWarning>,
}

/// Folders that differ between the guard and the session that it serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedFolders {
    /// The folder whose `.claude` contains the compiled policy of the guard.
    pub policy_dir: PathBuf,
    /// The state folder on the agent's side, with its hand-over.
    pub state_dir: PathBuf,
}

/// An invalid environment variable, or a policy that does not match it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum EnvironmentWarning {
    #[error("CLAUDEOPS_TIER is `{0}`, not 1, 2 or 3; using tier 1")]
    Tier(String),
    #[error("CLAUDEOPS_MAX_TIER is `{0}`, not 1, 2 or 3; limiting sessions to tier 1")]
    MaxTier(String),
    #[error("{0} is not a model name; using the one in hosts.yaml")]
    Model(String),
    #[error(
        "CLAUDEOPS_ALLOWED_TOOLS only removes tools: tier {tier} does not get {tools}; list them in `policy.tiers.{tier}.tools` of hosts.yaml"
    )]
    AllowedTools { tools: String, tier: u8 },
    #[error("CLAUDE_SESSION_MODE is `{0}`, not interactive, mission or background; using background")]
    Mode(String),
    #[error("CLAUDEOPS_DRY_RUN is `{0}`, not true or false; this is a dry run")]
    DryRun(String),
    #[error(
        "{} is in force and was rendered from another hosts.yaml than {}; run `opsctl render`, or restart the container",
        policy.display(),
        hosts.display()
    )]
    OutdatedPolicy { policy: PathBuf, hosts: PathBuf },
}

impl Environment {
    /// Reads the process's own environment.
    pub fn of_process() -> Self {
        Self::from_variables(variable)
    }

    /// Reads the variables through `get`. An empty variable counts as unset; an invalid one falls back to the safest
    /// setting, with a warning.
    pub fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let path = |name: &str| set(name).map(PathBuf::from);
        let text = |name: &str| set(name).map(|value| value.to_string_lossy().into_owned());
        let mut warnings = Vec::new();
        let stated = get("CLAUDEOPS_TIER");
        let is_tier_blank = stated.as_ref().is_some_and(|tier| tier.is_empty());
        let tier = stated.filter(|tier| !tier.is_empty()).map(|tier| {
            let tier = tier.to_string_lossy();
            tier_named(&tier).unwrap_or_else(|| {
                warnings.push(EnvironmentWarning::Tier(tier.into_owned()));
                Tier::Observe
            })
        });
        let mode = text("CLAUDE_SESSION_MODE").map(|mode| mode_named(&mode, &mut warnings));
        let dry_run = dry_run(text("CLAUDEOPS_DRY_RUN").as_deref(), &mut warnings);
        let named = path("CLAUDEOPS_STATE_DIR")
            .or_else(|| Some("/state".into()).filter(|folder: &PathBuf| folder.is_dir()));
        let home = named.is_none().then(|| users_state_dir(&path)).flatten();
        let owns_state_dir = home.is_some();
        let state_dir = named.or(home).unwrap_or_else(|| "/state".into());
        Self {
            hosts: path("CLAUDEOPS_HOSTS"),
            ignore_compiled: false,
            is_host: false,
            ledger: Location::new(
                match text("CLAUDEOPS_DB_URL") {
                    Some(url) => Place::Server(ServerAddress::new(url, path("CLAUDEOPS_DB_PASSWORD_FILE"))),
                    None => Place::File(
                        path("CLAUDEOPS_DB_PATH").unwrap_or_else(|| state_dir.join("claudeops.db")),
                    ),
                },
                text("CLAUDEOPS_AGENT").and_then(|name| plain_word(name.trim())),
                Some(state_dir.clone()),
            ),
            results: path("CLAUDEOPS_RESULTS_DIR"),
            state_dir,
            owns_state_dir,
            tier,
            is_tier_blank,
            mode,
            apprise_urls: text("CLAUDEOPS_APPRISE_URLS").filter(|urls| !urls.trim().is_empty()),
            apprise_config: path("CLAUDEOPS_APPRISE_CONFIG"),
            guard: set(address::VARIABLE).and_then(|value| Address::read(&value)),
            served: None,
            notify_socket: text("OPSCTL_NOTIFY_SOCKET"),
            desk_url: text("CLAUDEOPS_DESK_URL"),
            ntfy_actions: text("CLAUDEOPS_NTFY_ACTIONS").is_some_and(|value| value.trim() == "true"),
            approval_key: path("CLAUDEOPS_APPROVAL_KEY"),
            dry_run,
            session: text("CLAUDE_SESSION_ID"),
            role: text("CLAUDE_SESSION_ROLE"),
            client_session: text("CLAUDE_CODE_SESSION_ID"),
            project_dir: path("CLAUDE_PROJECT_DIR").unwrap_or_else(|| ".".into()),
            started: Instant::now(),
            warnings,
        }
    }

    /// The folder whose `.claude` contains the compiled policy in force.
    pub fn policy_dir(&self) -> &Path {
        self.served.as_ref().map_or(&self.project_dir, |served| &served.policy_dir)
    }

    /// The state folder of the session: on the agent's side, if the guard is a process of its own.
    pub fn session_state_dir(&self) -> &Path {
        self.served.as_ref().map_or(&self.state_dir, |served| &served.state_dir)
    }

    /// The agent session that this process runs in; `None` if an operator started it.
    pub fn shell_session(&self) -> Option<&str> {
        self.session.as_deref().or(self.client_session.as_deref())
    }

    /// Creates the state folder if it is in the user's home. A folder that an operator has named must exist, so that a typo
    /// does not begin a new history.
    pub fn create_own_state_dir(&self) -> std::io::Result<()> {
        if !self.owns_state_dir {
            return Ok(());
        }
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.state_dir)
    }

    /// The folder of session logs: `CLAUDEOPS_RESULTS_DIR`, else `/results` of a container, else `results` in the state
    /// folder.
    pub fn results_dir(&self) -> PathBuf {
        self.results.clone().unwrap_or_else(|| {
            let container = PathBuf::from("/results");
            if container.is_dir() { container } else { self.state_dir.join("results") }
        })
    }

    /// `mcp.json` in the state folder: the merged MCP servers.
    pub fn mcp_config(&self) -> PathBuf {
        self.state_dir.join("mcp.json")
    }

    /// The file of the private key that signs answers: `CLAUDEOPS_APPROVAL_KEY`, else `approval.key` in the state folder.
    pub fn approval_key_file(&self) -> PathBuf {
        self.approval_key.clone().unwrap_or_else(|| self.state_dir.join("approval.key"))
    }

    /// `cooldown.json` in the state folder.
    pub fn cooldown_file(&self) -> PathBuf {
        self.state_dir.join("cooldown.json")
    }
}

fn users_state_dir(path: &impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let state = path("XDG_STATE_HOME").filter(|folder| folder.is_absolute());
    let state = state.or_else(|| Some(path("HOME")?.join(".local/state")));
    state.map(|state| state.join("opsctl"))
}

/// The tier of this number, as in `CLAUDEOPS_TIER`.
pub fn tier_named(text: &str) -> Option<Tier> {
    text.trim().parse().ok().and_then(Tier::from_number)
}

/// A name as it is stored and shown: no control characters, at most 200 characters; `None` if nothing is left.
pub fn plain_word(word: &str) -> Option<String> {
    let word: String = word.chars().filter(|c| !c.is_control()).take(200).collect();
    Some(word).filter(|word| !word.is_empty())
}

/// The mode of this name; an unknown name counts as the strictest mode.
fn mode_named(name: &str, warnings: &mut Vec<EnvironmentWarning>) -> Mode {
    Mode::named(&name.trim().to_lowercase()).unwrap_or_else(|| {
        let shown = name.chars().filter(|c| !c.is_control()).take(64).collect();
        warnings.push(EnvironmentWarning::Mode(shown));
        Mode::Background
    })
}

/// Whether `CLAUDEOPS_DRY_RUN` has this value; an invalid one counts as true.
pub fn dry_run(value: Option<&str>, warnings: &mut Vec<EnvironmentWarning>) -> bool {
    match value.map(|value| value.trim().to_lowercase()).as_deref() {
        None | Some("" | "false" | "0" | "no" | "off") => false,
        Some("true" | "1" | "yes" | "on") => true,
        Some(other) => {
            warnings.push(EnvironmentWarning::DryRun(other.to_owned()));
            true
        }
    }
}

#[cfg(test)]
pub mod tests {
    //! Settings as rows of variables.

    use super::*;
    use serde_json::{Map, Value, json};
    use std::collections::BTreeMap;

    /// Checks rows of variables and of settings that `read` makes of them.
    ///
    /// # Panics
    ///
    /// If a setting differs.
    pub fn check(rows: &str, read: impl Fn(&dyn Fn(&str) -> Option<OsString>) -> Value) {
        type Row = (BTreeMap<String, String>, Map<String, Value>);
        for (variables, settings) in serde_saphyr::from_str::<Vec<Row>>(rows).unwrap() {
            let read = read(&|name| variables.get(name).map(Into::into));
            for (key, value) in settings {
                assert_eq!(read[&key], value, "{key}: {variables:?}");
            }
        }
    }

    #[test]
    fn settings_follow_from_the_variables() {
        assert!(!Path::new("/state").exists(), "this test needs a machine without /state");
        check(include_str!("environment.yaml"), |get| {
            let environment = Environment::from_variables(get);
            let warnings: Vec<String> = environment.warnings.iter().map(ToString::to_string).collect();
            json!({
                "tier": environment.tier, "mode": environment.mode.map(Mode::as_str),
                "dry_run": environment.dry_run, "apprise_urls": environment.apprise_urls,
                "ledger": environment.ledger.file(), "state_dir": environment.state_dir,
                "results_dir": environment.results_dir(), "warnings": warnings,
            })
        });
    }
}
