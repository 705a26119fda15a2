//! Checks of the client: whether it is installed, and recent enough.

use std::path::{Path, PathBuf};

use super::examined::Examined;
use super::finding::Finding;
use super::hooks::Locations;
use crate::machine::client::release::is_at_least;
pub use crate::machine::client::release::version;
use crate::machine::programs::in_path;
use crate::setup::render::MANAGED;
use opsctl_policy::model::rights::policy::OnFailure;

const CHECK: &str = "client";

/// The first release that supports `onFailure`.
const KNOWS_ON_FAILURE: [u32; 3] = [2, 1, 295];

/// Finds the client's program: `CLAUDEOPS_CLIENT`, else `claude` in PATH.
pub fn find() -> Option<PathBuf> {
    if let Some(client) = std::env::var_os("CLAUDEOPS_CLIENT").filter(|client| !client.is_empty()) {
        return Some(client.into());
    }
    in_path("claude")
}

/// The folder of the user's settings: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
pub fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| Some(PathBuf::from(set("HOME")?).join(".claude")))
}

/// The plugins that the client loads because of its environment, in addition to those of its arguments.
pub fn plugins() -> Vec<PathBuf> {
    let folders = std::env::var_os(PLUGIN_DIRS).unwrap_or_default();
    std::env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty()).collect()
}

/// The variable of the environment that names folders of plugins.
pub const PLUGIN_DIRS: &str = "CLAUDE_CODE_PLUGIN_DIRS";

/// Where the client looks for hooks and extensions.
pub fn locations(project: &Path) -> Locations {
    let (managed, project) = (MANAGED.into(), project.to_owned());
    Locations { managed, project, user: folder(), settings: None, plugins: plugins() }
}

/// The variable that makes the client ignore hooks outside managed settings, if one is set.
pub fn bare() -> Option<&'static str> {
    let is_on = |name: &&str| std::env::var(name).is_ok_and(|value| matches!(value.as_str(), "1" | "true"));
    ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"].into_iter().find(is_on)
}

/// Checks that the client is installed and supports what the policy needs.
pub fn client(examined: &Examined<'_>) -> Finding {
    let Some(client) = &examined.client else {
        return Finding::failed(
            CHECK,
            "no client: no `claude` in PATH",
            "install it, or name it with CLAUDEOPS_CLIENT",
        );
    };
    let version = match version(client) {
        Ok(version) => version,
        Err(error) => {
            return Finding::failed(
                CHECK,
                format!("{} cannot be started ({error})", client.display()),
                "reinstall it, or name another with CLAUDEOPS_CLIENT",
            );
        }
    };
    let what = format!("{version} ({})", client.display());
    if is_at_least(&version, KNOWS_ON_FAILURE) {
        return Finding::ok(CHECK, format!("{what}, supports `onFailure`"));
    }
    let what = format!("{what} does not support `onFailure`: if the guard crashes, commands run");
    let remedy = "install 2.1.295 or later";
    match examined.policy.installation.policy.on_failure {
        OnFailure::Closed => Finding::failed(CHECK, what, remedy),
        OnFailure::Open => Finding::warning(CHECK, what, remedy),
    }
}
