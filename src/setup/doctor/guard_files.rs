//! Checks of opsctl's own files: whether they exist, are up to date, and are protected from the agent.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;
use serde_json::Value;

use super::examined::Examined;
use super::finding::Finding;
use crate::machine::environment::Environment;
use crate::machine::installation::{COMPILED_POLICY, hosts_file};
use crate::setup::render::{MANAGED, Managed, Order, RenderError, Rendered, SETTINGS, output, render};
use opsctl_inventory::compiled::Compiled;
use opsctl_inventory::error::HostsError;
use opsctl_inventory::load;

/// Why the rendered files cannot be compared with `hosts.yaml`.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// `hosts.yaml` is invalid.
    #[error(transparent)]
    Inventory(#[from] HostsError),
    /// An existing file cannot be read.
    #[error(transparent)]
    File(#[from] output::FileError),
    /// Nothing can be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The path of this program cannot be determined.
    #[error("the path of opsctl cannot be determined ({0})")]
    Executable(std::io::Error),
    /// The hooks cannot name this program.
    #[error("the path of opsctl is not UTF-8")]
    Program,
}

/// The remedy where this user cannot write the rendered files.
const REBUILD: &str = "build the image again with this hosts.yaml, or run `opsctl render` as root";

/// Checks that the rendered files are up to date with `hosts.yaml`.
pub fn settings(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "settings";
    let Some(hosts) = hosts_file(examined.environment.hosts.as_deref()) else {
        let remedy = "name it with CLAUDEOPS_HOSTS, or write a starter with `opsctl init`";
        return Finding::warning(CHECK, "no hosts.yaml to compare the settings with", remedy);
    };
    let project = &examined.environment.project_dir;
    if !project.is_dir() {
        let what = format!("the project folder {} does not exist", project.display());
        return Finding::failed(
            CHECK,
            what,
            "create it with `opsctl render --out`, or name another with CLAUDE_PROJECT_DIR",
        );
    }
    match differing(examined.environment, &examined.opsctl, &hosts) {
        Err(error) => Finding::failed(CHECK, error.to_string(), "correct it, then run `opsctl render`"),
        Ok(differing) if differing.is_empty() => {
            Finding::ok(CHECK, format!("up to date with {}", hosts.display()))
        }
        Ok(differing) => {
            let paths: Vec<String> = differing.iter().map(|path| path.display().to_string()).collect();
            let what = format!("out of date with {}: {}", hosts.display(), paths.join(", "));
            let can_render = differing.iter().all(|path| can_replace(path));
            let remedy = if can_render { "run `opsctl render`" } else { REBUILD };
            Finding::failed(CHECK, what, remedy)
        }
    }
}

fn differing(environment: &Environment, opsctl: &Path, hosts: &Path) -> Result<Vec<PathBuf>, CompareError> {
    let out = &environment.project_dir;
    let installation = load::load(hosts)?;
    // The tier is stored in the rendered policy only.
    let rendered = std::fs::read(out.join(COMPILED_POLICY)).ok();
    let tier = rendered.and_then(|text| Compiled::from_json(&text).ok()).and_then(|compiled| compiled.tier);
    let rendered = expected(&Compiled { installation, tier }, out, opsctl)?;
    Ok(output::differing(out, &rendered)?)
}

/// The files of a project, and the managed settings if they exist, as opsctl renders them with this policy.
pub fn expected(compiled: &Compiled, out: &Path, opsctl: &Path) -> Result<Vec<Rendered>, CompareError> {
    let managed_file = Path::new(MANAGED);
    let managed_settings =
        managed_file.exists().then(|| output::existing_settings(managed_file)).transpose()?;
    let opsctl = opsctl.to_str().ok_or(CompareError::Program)?;
    let managed = managed_settings.as_ref().map(|settings| Managed { file: managed_file, settings });
    let project = output::project(out, opsctl, &compiled.installation.settings)?;
    let mut rendered = render(&Order { compiled, opsctl, settings: &project.settings, managed })?;
    rendered.extend(project.local);
    Ok(rendered)
}

/// Checks the machine's managed settings.
pub fn managed() -> Finding {
    const CHECK: &str = "managed settings";
    const RENDER: &str = "run `opsctl render --managed /etc/claude-code/managed-settings.json` as root";
    let path = Path::new(MANAGED);
    let Ok(text) = std::fs::read_to_string(path) else {
        return Finding::warning(
            CHECK,
            format!("there is no {MANAGED}: a project can disable the hooks"),
            RENDER,
        );
    };
    match serde_json::from_str::<Value>(&text) {
        Err(error) => return Finding::failed(CHECK, format!("{MANAGED} is not JSON ({error})"), RENDER),
        Ok(settings) if settings.get("hooks").is_none() => {
            return Finding::failed(CHECK, format!("{MANAGED} has no hooks"), RENDER);
        }
        Ok(settings) if settings.get("allowManagedHooksOnly") != Some(&Value::Bool(true)) => {
            return Finding::failed(CHECK, format!("{MANAGED} allows hooks of other sources"), RENDER);
        }
        Ok(_) => {}
    }
    match path.metadata() {
        Ok(metadata) if metadata.uid() != 0 => Finding::failed(
            CHECK,
            format!("{MANAGED} is not owned by root"),
            format!("run `chown root {MANAGED}`"),
        ),
        Ok(_) => Finding::ok(CHECK, format!("{MANAGED}, owned by root")),
        Err(error) => Finding::failed(CHECK, format!("{MANAGED}: {error}"), RENDER),
    }
}

/// Checks that the hooks call this program and not another copy, which may have other rules.
pub fn program(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "program";
    let out = &examined.environment.project_dir;
    let texts = [PathBuf::from(MANAGED), out.join(SETTINGS)].map(|path| std::fs::read_to_string(path).ok());
    let mut called: Vec<PathBuf> =
        texts.into_iter().flatten().flat_map(|text| commands(&text)).map(PathBuf::from).collect();
    called.sort();
    called.dedup();
    if called.is_empty() {
        return Finding::failed(
            CHECK,
            "no hook calls opsctl: the agent is not restricted",
            "run `opsctl render`",
        );
    }
    for program in called {
        if access(&program, Access::EXEC_OK).is_err() {
            return Finding::failed(
                CHECK,
                format!("the hooks call {}, which cannot be executed", program.display()),
                "install opsctl there, or run `opsctl render` with the installed one",
            );
        }
        let same = program.canonicalize().ok() == examined.opsctl.canonicalize().ok();
        if !same {
            return Finding::warning(
                CHECK,
                format!("the hooks call {}, this is {}", program.display(), examined.opsctl.display()),
                "run `opsctl render` with the program that the hooks should call",
            );
        }
    }
    Finding::ok(CHECK, format!("the hooks call {}", examined.opsctl.display()))
}

/// The programs that hooks in the settings call with the argument `hook`.
fn commands(settings: &str) -> Vec<String> {
    let Ok(settings) = serde_json::from_str::<Value>(settings) else { return vec![] };
    let hooks = settings.get("hooks").and_then(Value::as_object);
    let groups = hooks.into_iter().flat_map(|events| events.values()).filter_map(Value::as_array).flatten();
    groups
        .filter_map(|group| group.get("hooks")?.as_array())
        .flatten()
        .filter(|hook| hook.pointer("/args/0").and_then(Value::as_str) == Some("hook"))
        .filter_map(|hook| Some(hook.get("command")?.as_str()?.to_owned()))
        .collect()
}

/// Checks that this user, which is also the agent's, cannot write opsctl's own files.
pub fn permissions(examined: &Examined<'_>) -> Finding {
    const CHECK: &str = "permissions";
    if geteuid().is_root() {
        let remedy = "run the agent as another user";
        return Finding::warning(CHECK, "running as root: the agent could change opsctl's own files", remedy);
    }
    let key = examined.environment.approval_key_file();
    let is_asked = examined.policy.installation.policy.approval_key.is_some();
    if is_asked && access(&key, Access::READ_OK).is_ok() {
        return Finding::warning(
            CHECK,
            format!(
                "this user can read the approval key {}: as this user, an agent can answer itself",
                key.display()
            ),
            "keep it where only the user of the guard can read it, and name it there with CLAUDEOPS_APPROVAL_KEY",
        );
    }
    let out = &examined.environment.project_dir;
    let guarding = [
        Some(examined.opsctl.clone()),
        Some(PathBuf::from(MANAGED)),
        Some(out.join(SETTINGS)),
        Some(out.join(COMPILED_POLICY)),
        hosts_file(examined.environment.hosts.as_deref()),
    ];
    let writable: Vec<String> = guarding
        .into_iter()
        .flatten()
        .filter(|path| can_replace(path))
        .map(|path| path.display().to_string())
        .collect();
    if writable.is_empty() {
        return Finding::ok(CHECK, "this user cannot write opsctl's own files");
    }
    Finding::warning(
        CHECK,
        format!("this user can write {}", writable.join(", ")),
        "the hooks deny it to the agent; for full protection, make root the owner of these files and their folders",
    )
}

/// Whether this user can write, create or replace a file, with the folders that it needs.
fn can_replace(path: &Path) -> bool {
    let writable = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    // Ends with the empty path, which is this folder.
    let above = path.ancestors().skip(1).map(|folder| if folder == "" { Path::new(".") } else { folder });
    path.exists() && writable(path) || above.into_iter().find(|folder| folder.exists()).is_some_and(writable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_programs_of_hooks_that_call_opsctl_only() {
        let settings = r#"{"hooks": {
            "PreToolUse": [{"hooks": [{"command": "/bin/opsctl", "args": ["hook", "pre-tool-use"]}]}],
            "Stop": [{"hooks": [{"type": "agent"}, {"command": "say", "args": ["done"]}, {"command": "x"}]}]}}"#;
        assert_eq!(commands(settings), ["/bin/opsctl"]);
        assert_eq!(commands("no json"), [""; 0]);
    }
}
