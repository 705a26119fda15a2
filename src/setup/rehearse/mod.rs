//! Rehearsals: a scripted model makes the installed client attempt what the guard must prevent, with the active settings.
//! Nothing leaves the machine: the model is on loopback, programs that would reach a service are stubs, folders are
//! temporary, and no key is used.

mod cast;
mod denials;
mod extensions;
mod material;
mod rendered;
mod report;
mod scenes;
pub mod scripted;
mod seen;
mod settings;
mod stage;
mod start;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::machine::client::release::identified;
use opsctl_inventory::compiled::Compiled;
pub use report::{Finding, GuaranteeStatus, RehearsalError, Report};
use scenes::{SCENES, Scene};
use stage::Props;

/// Rehearses the guarantees that contain one of the texts in `only`, or all if it is empty, with the settings of `project`
/// in addition to the managed ones, and with `policy`. `hosts` is the `hosts.yaml` from which the settings should be
/// rendered. Temporary files are below `state` if programs cannot run from the folder for temporary files.
pub fn rehearse(
    client: PathBuf,
    (project, state): (&Path, &Path),
    hosts: Option<&Path>,
    policy: &Compiled,
    only: &[String],
) -> Result<Report, RehearsalError> {
    let (kind, version) =
        identified(&client).map_err(|error| RehearsalError::Client(client.display().to_string(), error))?;
    let mut selected: Vec<&str> =
        SCENES.iter().filter(|scene| scene.is_for(kind)).flat_map(Scene::guarantees).collect();
    if let Some(text) = only.iter().find(|text| !selected.iter().any(|name| name.contains(text.as_str()))) {
        return Err(RehearsalError::NoGuarantee(text.clone()));
    }
    selected.retain(|name| only.is_empty() || only.iter().any(|text| name.contains(text.as_str())));
    if !project.is_dir() {
        return Err(RehearsalError::NoProject(project.to_owned()));
    }
    settings::check_managed()?;
    let settings = settings::of_project(project, kind)?;
    let (project, hosts) = (project.to_owned(), hosts.map(Path::to_owned));
    let props = Props { client, kind, settings, project, hosts, scratch: stage::scratch(state) };
    let guarantees = findings(&props, policy, &selected);
    Ok(Report { client: props.client, version, guarantees })
}

/// Runs a few scenes concurrently. Each starts a client of some hundred megabytes, which mostly waits.
fn findings(props: &Props, policy: &Compiled, selected: &[&str]) -> Vec<Finding> {
    let scenes = SCENES.iter().enumerate();
    let scenes = scenes.filter(|(_, scene)| scene.guarantees().any(|name| selected.contains(&name)));
    let waiting: Mutex<VecDeque<(usize, &Scene)>> = Mutex::new(scenes.collect());
    let found: Mutex<Vec<(usize, Vec<Finding>)>> = Mutex::default();
    let players = thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4));
    thread::scope(|scope| {
        for _ in 0..players {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((number, scene)) = next else { break };
                    let findings = scene.play(props, policy, selected);
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((number, findings));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().flat_map(|(_, findings)| findings).collect()
}
