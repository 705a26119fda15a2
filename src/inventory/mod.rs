//! `hosts.yaml`: read with positions, checked, and compiled for the hooks.

mod check;
pub mod compiled;
mod compiled_checks;
mod compiled_contacts;
mod compiled_context;
mod compiled_rules;
pub mod error;
pub mod load;
pub mod nearest;
mod wire;
mod wire_checks;
mod wire_contacts;
mod wire_context;
mod wire_hooks;
mod wire_rules;
mod words;

use crate::model::context::ContextPolicy;
use crate::model::hooks::OwnHook;
use crate::model::inventory::Inventory;
use crate::model::policy::Policy;

/// One installation: what is looked after, and within which limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Installation {
    /// The hosts and services.
    pub inventory: Inventory,
    /// The limits.
    pub policy: Policy,
    /// Hooks of the operator's own, beside ours.
    pub hooks: Vec<OwnHook>,
    /// What sessions are given to read.
    pub context: ContextPolicy,
}
