//! Rehearsals: a scripted model makes the installed client attempt what the guard must prevent, with the active settings.
//! Nothing leaves the machine: the model is on loopback, programs that would reach a service are stubs, folders are
//! temporary, and no key is used.

mod attempts;
mod cast;
mod denials;
mod http;
mod messages;
mod model;
mod rendered;
mod report;
mod scenes;
mod script;
mod seen;
mod settings;
mod stage;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::doctor::client::version;
use crate::inventory::compiled::Compiled;
pub use report::{Finding, Outcome, RehearsalError, Report};
use scenes::{SCENES, Scene};
use stage::Props;

/// Rehearses every guarantee, with the settings of `project` in addition to the managed ones, and with `policy`. `hosts`
/// is the `hosts.yaml` from which the settings should be rendered.
pub fn rehearse(
    client: PathBuf,
    project: &Path,
    hosts: Option<&Path>,
    policy: &Compiled,
) -> Result<Report, RehearsalError> {
    let version = version(&client)
        .map_err(|error| RehearsalError::Client { client: client.display().to_string(), error })?;
    settings::check_managed()?;
    let props = Props { settings: settings::of_project(project)?, client };
    let mut guarantees = vec![rendered::finding(project, hosts, policy)];
    guarantees.extend(findings(&props, policy));
    Ok(Report { client: props.client, version, guarantees })
}

/// Runs a few scenes concurrently. Each starts a client of some hundred megabytes, which mostly waits.
fn findings(props: &Props, policy: &Compiled) -> Vec<Finding> {
    let waiting: Mutex<VecDeque<(usize, &Scene)>> = Mutex::new(SCENES.iter().enumerate().collect());
    let found: Mutex<Vec<(usize, Vec<Finding>)>> = Mutex::default();
    let players = thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4));
    thread::scope(|scope| {
        for _ in 0..players {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((number, scene)) = next else { break };
                    let findings = scene.play(props, policy);
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((number, findings));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().flat_map(|(_, findings)| findings).collect()
}
