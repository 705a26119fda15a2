//! A rehearsal: the installed client, under the settings in force, led by a scripted model to do what a guard must
//! prevent. Nothing of it leaves the machine: the model is on loopback, the programs that would reach a service are
//! stubs, the folders are temporary, and there is no key.

mod http;
mod messages;
mod model;
mod scenes;
mod settings;
mod stage;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde::Serialize;

use crate::doctor::client::version;
use crate::inventory::compiled::Compiled;
use scenes::{SCENES, Scene};
use stage::Props;

/// What became of a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The guard held.
    Held,
    /// It did not.
    Broken,
    /// The policy in force does not promise it.
    NotPromised,
}

/// A guarantee, and what was seen of it.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// What is guaranteed.
    pub guarantee: &'static str,
    /// What became of it.
    pub outcome: Outcome,
    /// What was seen.
    pub seen: String,
}

/// What a rehearsal found out.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The client's program.
    pub client: PathBuf,
    /// Its release.
    pub version: String,
    /// The guarantees, in a fixed order.
    pub guarantees: Vec<Finding>,
}

impl Report {
    /// Whether no guarantee broke.
    pub fn is_good(&self) -> bool {
        self.guarantees.iter().all(|finding| finding.outcome != Outcome::Broken)
    }
}

/// Why there was no rehearsal.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// The client cannot be started.
    #[error("the client {client} cannot be started ({error}); name it with --client")]
    Client {
        /// Its program.
        client: String,
        /// What went wrong.
        error: std::io::Error,
    },
    /// Settings that would lead the client away from the scripted model.
    #[error(
        "{path} sets `{key}`, which would lead the rehearsal to a real model; take it out, or set it in the client's environment"
    )]
    LedAway {
        /// The settings.
        path: String,
        /// The key in them.
        key: String,
    },
    /// Settings that cannot be read at all.
    #[error("{path}: {error}; check its owner and rights")]
    Settings {
        /// The settings.
        path: String,
        /// What went wrong.
        error: std::io::Error,
    },
}

/// Rehearses every guarantee. `project` is the folder whose `.claude/settings.json` is in force beside the machine's
/// managed settings, `policy` the policy in force.
pub fn rehearse(
    client: PathBuf,
    project: &std::path::Path,
    policy: &Compiled,
) -> Result<Report, RehearsalError> {
    let version = version(&client)
        .map_err(|error| RehearsalError::Client { client: client.display().to_string(), error })?;
    settings::check_managed()?;
    let props = Props { settings: settings::of_project(project)?, client };
    let guarantees = findings(&props, policy);
    Ok(Report { client: props.client, version, guarantees })
}

/// A few scenes at a time: each is a client of some hundred megabytes, and most of its time is waiting.
fn findings(props: &Props, policy: &Compiled) -> Vec<Finding> {
    let waiting: Mutex<VecDeque<(usize, &Scene)>> = Mutex::new(SCENES.iter().enumerate().collect());
    let found: Mutex<Vec<(usize, Finding)>> = Mutex::default();
    let players = thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4));
    thread::scope(|scope| {
        for _ in 0..players {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((place, scene)) = next else { break };
                    let finding = scene.play(props, policy);
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((place, finding));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, finding)| finding).collect()
}
