//! What is known of a session before it starts.

use std::path::PathBuf;

use serde_json::Value;

use super::verifier::Verifier;
use crate::machine::environment::Environment;
use crate::machine::runner::RunnerEnvironment;
use opsctl_ledger::sessions::client_runs::WaitingRun;
use opsctl_policy::model::installation::client_setting::ClientSetting;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::rights::policy::{Tier, Window};

/// The settings of a session.
pub struct Session<'a> {
    /// Its tier.
    pub tier: Tier,
    /// The model.
    pub model: &'a str,
    /// The client's arguments for the tier (layers 1 and 2).
    pub limits: Vec<String>,
    /// The prompt.
    pub prompt: String,
    /// The settings that `hosts.yaml` states.
    pub settings: &'a [ClientSetting],
    /// The hooks of the project, unless managed settings contain the guard.
    pub hooks: Option<Value>,
    /// How long logs are kept, and their maximum size together, in MiB.
    pub keep: (Window, u32),
    /// The timeout.
    pub deadline: Window,
    /// The environment.
    pub environment: &'a Environment,
    /// The environment for running sessions.
    pub runner: &'a RunnerEnvironment,
    /// The inventory, for names of services.
    pub inventory: &'a Inventory,
    /// The id of the session that handed over to this one.
    pub parent: Option<&'a str>,
    /// The session that waited and goes on; `None` for a new one.
    pub resumed: Option<&'a WaitingRun>,
    /// The folder of the client's transcripts.
    pub transcripts: PathBuf,
    /// The verification by a model after the session; `None` without one.
    pub verifier: Option<Verifier>,
}

/// The output of a session.
pub struct Voices<'a> {
    /// Prints progress, one line each.
    pub tell: &'a dyn Fn(&str),
    /// Prints warnings, one line each.
    pub complain: &'a dyn Fn(&str),
}
