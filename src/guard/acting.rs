//! A tool call that acts: its actions, seen through the installation in force.

use chrono::{DateTime, Utc};

use crate::actions::read_command;
use crate::inventory::Installation;
use crate::ledger::CallId;
use crate::model::action::Action;
use crate::model::event::{HookCall, ToolCall};
use crate::model::inventory::Inventory;
use crate::model::policy::Tier;
use crate::model::verdict::ResolvedAction;
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// A tool call that holds at least one action.
pub struct ActingCall<'a> {
    /// The call, for the ledger.
    pub id: CallId<'a>,
    /// The actions, in the order in which they run.
    pub actions: Vec<ResolvedAction>,
    /// The policy in force.
    pub installation: Installation,
    /// The tier of the session.
    pub tier: Option<Tier>,
    /// When the call is judged.
    pub now: DateTime<Utc>,
}

impl<'a> ActingCall<'a> {
    /// Reads the command. `None` when there is no action in it: then neither the policy nor the ledger
    /// has been touched.
    pub fn read(
        call: &'a HookCall,
        tool: &'a ToolCall,
        environment: &Environment,
        now: DateTime<Utc>,
        notes: &mut Vec<String>,
    ) -> Option<Self> {
        let reading = read_command(tool.command.as_deref()?, call.cwd.as_deref());
        notes.extend(reading.complaints);
        if reading.actions.is_empty() {
            return None;
        }
        let compiled = installation::in_force(environment, notes);
        let actions = resolve(reading.actions, &compiled.installation.inventory);
        Some(Self {
            id: CallId {
                session: call.session.as_deref(),
                // An empty id names no call.
                tool_use: tool.id.as_deref().filter(|id| !id.is_empty()),
            },
            actions,
            tier: environment.tier.or(compiled.tier),
            installation: compiled.installation,
            now,
        })
    }

    /// The actions in words, for the record.
    pub fn evidence(&self) -> String {
        let words: Vec<&str> = self.actions.iter().map(|action| action.action.evidence.as_str()).collect();
        words.join("; ")
    }
}

/// Looks the targets and hosts of the actions up in the inventory.
pub fn resolve(actions: Vec<Action>, inventory: &Inventory) -> Vec<ResolvedAction> {
    actions
        .into_iter()
        .map(|action| {
            let host = action.host.as_deref().map(|host| inventory.host_of(host).to_owned());
            let service = inventory.service_of(&action.target, host.as_deref());
            ResolvedAction { action, service, host }
        })
        .collect()
}
