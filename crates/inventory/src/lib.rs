//! `hosts.yaml`: read with positions, checked, and compiled for the hooks.

mod check;
pub mod compiled;
pub mod error;
pub mod load;
mod read;
pub mod spanned;
mod syntax;
mod written;
mod yaml;

use serde::{Deserialize, Serialize};

use crate as inventory;
use opsctl_policy as policy;
use opsctl_policy::model;
use opsctl_reader::{actions, catalogue, shell};

use crate::model::client_setting::ClientSetting;
use crate::model::context::ContextPolicy;
use crate::model::hooks::OwnHook;
use crate::model::inventory::Inventory;
use crate::model::policy::Policy;
use crate::model::repository_server::RepositoryServer;

/// One installation: what `hosts.yaml` states, with every default filled in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Installation {
    /// The hosts and services.
    pub inventory: Inventory,
    /// The budgets, tiers and rules.
    pub policy: Policy,
    /// Additional hooks of the operator.
    pub hooks: Vec<OwnHook>,
    /// The files that sessions load when they start.
    pub context: ContextPolicy,
    /// The MCP servers of repositories that may run.
    pub repository_servers: Vec<RepositoryServer>,
    /// Settings of the client's project that the operator states.
    pub settings: Vec<ClientSetting>,
}
