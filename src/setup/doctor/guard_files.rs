//! Checks of opsctl's own files: whether they exist, are up to date, and are protected from the agent.

use std::collections::BTreeSet;
use std::error::Error;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;
use serde_json::Value;

use super::check::{Examined, Outcome, failed, joined, paths, warning};
use super::hooks::json_file;
use crate::machine::environment::Environment;
use crate::machine::installation::{COMPILED_POLICY, hosts_file};
use crate::setup::render::{
    MANAGED, Managed, Order, Rendered, SETTINGS, groups, hooks, output, render, serves_hooks,
};
use opsctl_inventory::compiled::Compiled;
use opsctl_inventory::load;
use opsctl_machine::plain_file;

/// The remedy where this user cannot write the rendered files.
const REBUILD: &str = "build the image again with this hosts.yaml, or run `opsctl render` as root";

/// Checks that the rendered files are up to date with `hosts.yaml`.
pub fn settings(examined: &Examined<'_>) -> Outcome {
    let hosts = hosts_file(examined.environment).ok_or_else(|| {
        let remedy = "name it with CLAUDEOPS_HOSTS, or write a starter with `opsctl init`";
        warning("no hosts.yaml to compare the settings with", remedy)
    })?;
    let project = &examined.environment.project_dir;
    if !project.is_dir() {
        let what = format!("the project folder {} does not exist", project.display());
        let remedy = "create it with `opsctl render --out`, or name another with CLAUDE_PROJECT_DIR";
        return Err(failed(what, remedy));
    }
    let differing = differing(examined.environment, &examined.opsctl, &hosts)
        .map_err(|error| failed(error.to_string(), "correct it, then run `opsctl render`"))?;
    if differing.is_empty() {
        return Ok(format!("up to date with {}", hosts.display()));
    }
    let what = format!("out of date with {}: {}", hosts.display(), paths(&differing));
    let can_render = differing.iter().all(|path| can_replace(path));
    Err(failed(what, if can_render { "run `opsctl render`" } else { REBUILD }))
}

fn differing(environment: &Environment, opsctl: &Path, hosts: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let out = &environment.project_dir;
    let installation = load::load(hosts)?;
    // The tier is stored in the rendered policy only.
    let rendered = plain_file::bytes(&out.join(COMPILED_POLICY)).ok();
    let tier = rendered.and_then(|text| Compiled::from_json(&text).ok()).and_then(|compiled| compiled.tier);
    let rendered = expected(&Compiled { installation, tier }, out, opsctl)?;
    Ok(output::differing(out, &rendered)?)
}

/// The files of a project, and the managed settings if they exist, as opsctl renders them with this policy.
pub fn expected(compiled: &Compiled, out: &Path, opsctl: &Path) -> Result<Vec<Rendered>, Box<dyn Error>> {
    let managed_file = Path::new(MANAGED);
    let managed_settings =
        managed_file.exists().then(|| output::existing_settings(managed_file)).transpose()?;
    let opsctl = opsctl.to_str().ok_or("the path of opsctl is not UTF-8")?;
    let managed = managed_settings.as_ref().map(|settings| Managed { file: managed_file, settings });
    let project = output::project(out, opsctl, &compiled.installation.settings)?;
    let mut rendered = render(&Order { compiled, opsctl, settings: &project.settings, managed })?;
    rendered.extend(project.local);
    Ok(rendered)
}

/// Checks the machine's managed settings.
pub fn managed() -> Outcome {
    const RENDER: &str = "run `opsctl render --managed /etc/claude-code/managed-settings.json` as root";
    let path = Path::new(MANAGED);
    let text = plain_file::text(path)
        .map_err(|_| warning(format!("there is no {MANAGED}: a project can disable the hooks"), RENDER))?;
    let settings: Value = serde_json::from_str(&text)
        .map_err(|error| failed(format!("{MANAGED} is not JSON ({error})"), RENDER))?;
    if settings.get("hooks").is_none() {
        return Err(failed(format!("{MANAGED} has no hooks"), RENDER));
    }
    if settings.get("allowManagedHooksOnly") != Some(&Value::Bool(true)) {
        return Err(failed(format!("{MANAGED} allows hooks of other sources"), RENDER));
    }
    let metadata = path.metadata().map_err(|error| failed(format!("{MANAGED}: {error}"), RENDER))?;
    if metadata.uid() != 0 {
        return Err(failed(format!("{MANAGED} is not owned by root"), format!("run `chown root {MANAGED}`")));
    }
    Ok(format!("{MANAGED}, owned by root"))
}

/// Checks that the hooks call this program and not another copy, which may have other rules.
pub fn program(examined: &Examined<'_>) -> Outcome {
    let out = &examined.environment.project_dir;
    let files = [PathBuf::from(MANAGED), out.join(SETTINGS)];
    let called: BTreeSet<PathBuf> =
        files.iter().flat_map(|file| commands(&json_file(file)).collect::<Vec<_>>()).collect();
    if called.is_empty() {
        return Err(failed("no hook calls opsctl: the agent is not restricted", "run `opsctl render`"));
    }
    for program in called {
        let what = format!("the hooks call {}", program.display());
        if access(&program, Access::EXEC_OK).is_err() {
            let remedy = "install opsctl there, or run `opsctl render` with the installed one";
            return Err(failed(format!("{what}, which cannot be executed"), remedy));
        }
        if program.canonicalize().ok() != examined.opsctl.canonicalize().ok() {
            let what = format!("{what}, this is {}", examined.opsctl.display());
            return Err(warning(what, "run `opsctl render` with the program that the hooks should call"));
        }
    }
    Ok(format!("the hooks call {}", examined.opsctl.display()))
}

/// The programs that hooks in the settings call with the argument `hook`.
fn commands(settings: &Value) -> impl Iterator<Item = PathBuf> {
    let hooks = groups(settings).flat_map(|(_, group)| hooks(group));
    hooks.filter(|hook| serves_hooks(hook)).filter_map(|hook| Some(hook.get("command")?.as_str()?.into()))
}

/// Checks that this user, which is also the agent's, cannot write opsctl's own files.
pub fn permissions(examined: &Examined<'_>) -> Outcome {
    if geteuid().is_root() {
        let what = "running as root: the agent could change opsctl's own files";
        return Err(warning(what, "run the agent as another user"));
    }
    let key = examined.environment.approval_key_file();
    let is_asked = examined.policy.installation.policy.approval_key.is_some();
    if is_asked && access(&key, Access::READ_OK).is_ok() {
        let key = key.display();
        return Err(warning(
            format!(
                "this user can read the approval key {key}: an agent of this user could answer its own questions"
            ),
            "keep it where only the user of the guard can read it, and name it there with CLAUDEOPS_APPROVAL_KEY",
        ));
    }
    let out = &examined.environment.project_dir;
    let guarding = [
        Some(examined.opsctl.clone()),
        Some(PathBuf::from(MANAGED)),
        Some(out.join(SETTINGS)),
        Some(out.join(COMPILED_POLICY)),
        hosts_file(examined.environment),
    ];
    let writable = guarding.iter().flatten().filter(|path| can_replace(path));
    let writable = joined(writable.map(|path| path.display()));
    if writable.is_empty() {
        return Ok("this user cannot write opsctl's own files".to_owned());
    }
    Err(warning(
        format!("this user can write {writable}"),
        "the hooks deny it to the agent; for full protection, make root the owner of these files and their folders",
    ))
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
        let settings = serde_json::json!({"hooks": {
            "PreToolUse": [{"hooks": [{"command": "/bin/opsctl", "args": ["hook", "pre-tool-use"]}]}],
            "Stop": [{"hooks": [{"type": "agent"}, {"command": "say", "args": ["done"]}, {"command": "x"}]}]}});
        assert_eq!(commands(&settings).collect::<Vec<_>>(), [Path::new("/bin/opsctl")]);
        assert_eq!(commands(&Value::Null).count(), 0);
    }
}
