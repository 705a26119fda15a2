//! A tool call that acts: its actions, resolved with the policy in force.

use chrono::{DateTime, Utc};

use crate::actions::tool::find_actions as tool_actions;
use crate::actions::{CommandReading, message, read_command};
use crate::inventory::Installation;
use crate::ledger::CallId;
use crate::model::action::Action;
use crate::model::event::{HookCall, ToolCall};
use crate::model::inventory::Inventory;
use crate::model::policy::Tier;
use crate::model::rules::Rules;
use crate::model::verdict::{Reason, ResolvedAction};
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::runtime::warning::Warning;

/// A tool call that has at least one action, or to which a rule objects.
pub struct ActingCall<'a> {
    /// The id of the call in the ledger.
    pub id: CallId<'a>,
    /// The actions, in the order in which they run.
    pub actions: Vec<ResolvedAction>,
    /// The policy in force.
    pub installation: Installation,
    /// The tier of the session.
    pub tier: Option<Tier>,
    /// The objections of all rules that need no budget.
    pub objections: Vec<Reason>,
    /// When the call is judged.
    pub now: DateTime<Utc>,
}

impl<'a> ActingCall<'a> {
    /// Reads a tool call that has run. `None` if it has no action.
    pub fn after(
        call: &'a HookCall,
        tool: &'a ToolCall,
        environment: &Environment,
        now: DateTime<Utc>,
        warnings: &mut Vec<Warning>,
    ) -> Option<Self> {
        let mut reading = read(call, tool);
        if tool.mcp.is_some() || message::may_be_listed(&reading.script) {
            add_listed(&mut reading, tool, &installation::head_in_force(environment).rules);
        }
        warnings.extend(reading.complaints.into_iter().map(Warning::Command));
        Self::of(call, tool, reading.actions, vec![], environment, now, warnings)
    }

    /// `None` if there is neither an action nor an objection: then the inventory is not read.
    pub(super) fn of(
        call: &'a HookCall,
        tool: &'a ToolCall,
        actions: Vec<Action>,
        objections: Vec<Reason>,
        environment: &Environment,
        now: DateTime<Utc>,
        warnings: &mut Vec<Warning>,
    ) -> Option<Self> {
        if actions.is_empty() && objections.is_empty() {
            return None;
        }
        let compiled = installation::in_force(environment, warnings);
        let actions = resolve(actions, &compiled.installation.inventory);
        Some(Self {
            id: CallId {
                session: call.session.as_deref(),
                // An empty id identifies no call.
                tool_use: tool.id.as_deref().filter(|id| !id.is_empty()),
            },
            actions,
            tier: environment.tier.or(compiled.tier),
            installation: compiled.installation,
            objections,
            now,
        })
    }

    /// The actions as text, as they are recorded.
    pub fn evidence(&self) -> String {
        let texts: Vec<&str> = self.actions.iter().map(|action| action.action.evidence.as_str()).collect();
        texts.join("; ")
    }
}

/// The reading of the shell command, if there is one.
pub(super) fn read(call: &HookCall, tool: &ToolCall) -> CommandReading {
    tool.command.as_deref().map(|text| read_command(text, call.cwd.as_deref())).unwrap_or_default()
}

/// Adds the actions that `hosts.yaml` defines: requests to its webhooks, calls of its MCP tools.
pub(super) fn add_listed(reading: &mut CommandReading, tool: &ToolCall, rules: &Rules) {
    message::listed(&reading.script, &rules.webhooks, &mut reading.actions);
    if let Some(call) = &tool.mcp {
        reading.actions.extend(tool_actions(call, &rules.tools));
    }
}

/// Looks up the targets and hosts of the actions in the inventory.
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
