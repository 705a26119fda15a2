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

use opsctl_policy::model::installation::client_setting::ClientSetting;
use opsctl_policy::model::installation::context::ContextPolicy;
use opsctl_policy::model::installation::hooks::OwnHook;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::installation::repository_server::RepositoryServer;
use opsctl_policy::model::rights::policy::Policy;

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
