//! Checks of the client: whether it is installed and recent enough, its credentials, settings and MCP servers.

use std::path::{Path, PathBuf};

use super::check::{Examined, Outcome, failed, joined, warning};
use super::hooks::{Locations, json_file};
use crate::machine::client::release::is_at_least;
pub use crate::machine::client::release::version;
use crate::machine::programs::in_path;
use crate::machine::runner::RunnerEnvironment;
use crate::sessions::mcp::{Order, merge};
use crate::setup::render::{MANAGED, SETTINGS, Weakening, output};
use opsctl_machine::held_variables::variable;

/// The first release that supports `onFailure`.
const KNOWS_ON_FAILURE: [u32; 3] = [2, 1, 295];

/// Variables that authenticate the client, or name a provider or proxy that does.
const CREDENTIALS: [&str; 7] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];

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
pub fn client(examined: &Examined<'_>) -> Outcome {
    let client = examined.client.as_ref().ok_or_else(|| {
        failed("no client: no `claude` in PATH", "install it, or name it with CLAUDEOPS_CLIENT")
    })?;
    let version = version(client).map_err(|error| {
        let what = format!("{} cannot be started ({error})", client.display());
        failed(what, "reinstall it, or name another with CLAUDEOPS_CLIENT")
    })?;
    let what = format!("{version} ({})", client.display());
    if is_at_least(&version, KNOWS_ON_FAILURE) {
        return Ok(format!("{what}, supports `onFailure`"));
    }
    let what = format!("{what} does not support `onFailure`: if the guard crashes, commands run");
    Err(examined.failure(what.clone(), what, "install 2.1.295 or later"))
}

/// Checks that credentials are configured; whether they are valid is not checked.
pub fn credentials(examined: &Examined<'_>) -> Outcome {
    let is_set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    if let Some(variable) = CREDENTIALS.into_iter().find(is_set) {
        return Ok(variable.to_owned());
    }
    let user = folder();
    let login = user.iter().map(|folder| folder.join(".credentials.json")).find(|file| file.is_file());
    if let Some(file) = login {
        return Ok(file.display().to_string());
    }
    let mut settings = vec![Path::new(MANAGED).to_owned(), examined.environment.project_dir.join(SETTINGS)];
    settings.extend(user.map(|folder| folder.join("settings.json")));
    // The program that it names prints the API key.
    let has_helper = |file: &PathBuf| json_file(file).get("apiKeyHelper").is_some();
    let helper = settings.into_iter().find(has_helper).ok_or_else(|| {
        let remedy = "set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN, with compose in .env";
        warning("none are configured: the client cannot start a session", remedy)
    })?;
    Ok(format!("the apiKeyHelper of {}", helper.display()))
}

/// Checks that the settings files of the project and of the user contain only keys that are harmless, except as
/// `hosts.yaml` states.
pub fn settings(examined: &Examined<'_>) -> Outcome {
    let in_words = |found: &[Weakening]| found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let opsctl = examined.opsctl.to_string_lossy();
    let stated = &examined.policy.installation.settings;
    // The check `settings` reports files that cannot be read.
    let project = output::project(&examined.environment.project_dir, &opsctl, stated);
    let of_project = project.map(|project| project.removed).unwrap_or_default();
    if let Some(first) = of_project.first() {
        let remedy = format!("run `opsctl render`, which removes it; {}", first.remedy());
        return Err(failed(in_words(&of_project), remedy));
    }
    let file = folder().map(|folder| folder.join("settings.json"));
    let of_user =
        file.and_then(|file| Some(output::cleaned(&file, &opsctl, &[]).ok()?.1)).unwrap_or_default();
    if !of_user.is_empty() {
        let remedy =
            "remove it, or start sessions with `opsctl session`, whose client does not read this file";
        return Err(warning(in_words(&of_user), remedy));
    }
    Ok("only keys that are known to be harmless".to_owned())
}

/// Checks that no MCP server of the baseline and of repositories is left out.
pub fn mcp_servers(examined: &Examined<'_>) -> Outcome {
    let runner = RunnerEnvironment::of_process();
    let installation = &examined.policy.installation;
    let merged = merge(&Order {
        baseline: &runner.mcp_baseline(examined.environment),
        repos: &runner.repos_dir,
        listed: &installation.repository_servers,
        tiers: &installation.policy.tiers,
        opsctl: &examined.opsctl.to_string_lossy(),
    });
    let Some(first) = merged.left_out.first().map(ToString::to_string) else {
        let servers = joined(merged.origins());
        return Ok(if servers.is_empty() { "none".to_owned() } else { servers });
    };
    let (what, remedy) = first.rsplit_once("; ").unwrap_or((&first, "correct it"));
    let more = match merged.left_out.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} further: run `opsctl mcp merge` to list them"),
    };
    Err(warning(format!("{what}{more}"), remedy))
}
