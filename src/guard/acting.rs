//! A tool call that acts: its actions, seen through the installation in force.

use chrono::{DateTime, Utc};

use super::screen;
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
use crate::policy::{dry_run, modes};
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// A tool call that holds at least one action, or that a rule objects to.
pub struct ActingCall<'a> {
    /// The call, for the ledger.
    pub id: CallId<'a>,
    /// The actions, in the order in which they run.
    pub actions: Vec<ResolvedAction>,
    /// The policy in force.
    pub installation: Installation,
    /// The tier of the session.
    pub tier: Option<Tier>,
    /// What the rules about commands object to, whatever is acted on.
    pub objections: Vec<Reason>,
    /// When the call is judged.
    pub now: DateTime<Utc>,
}

impl<'a> ActingCall<'a> {
    /// Reads a command that is about to run. `None` when there is no action in it and no rule objects: then
    /// neither the inventory nor the ledger has been touched.
    pub fn before(
        call: &'a HookCall,
        tool: &'a ToolCall,
        environment: &Environment,
        now: DateTime<Utc>,
        notes: &mut Vec<String>,
    ) -> Option<Self> {
        if tool.command.is_none() && tool.file.is_none() && tool.mcp.is_none() {
            return None;
        }
        let cwd = call.cwd.as_deref();
        let header = installation::header_in_force(environment);
        let mut reading = reading(call, tool);
        add_listed(&mut reading, tool, &header.rules);
        let mut objections = screen::objections(&reading.script, &header, environment);
        if let Some(file) = &tool.file {
            objections.extend(screen::file_objections(file, cwd, &header, environment));
        }
        let acting = Self::of(call, tool, reading, objections, environment, now, notes);
        acting.map(|mut acting| {
            let policy = &acting.installation.policy;
            acting.objections.extend(modes::objections(&acting.actions, policy, environment.mode));
            if environment.dry_run {
                acting.objections.extend(dry_run::objections(&acting.actions));
            }
            acting
        })
    }

    /// Reads a command that has run. `None` when there is no action in it.
    pub fn after(
        call: &'a HookCall,
        tool: &'a ToolCall,
        environment: &Environment,
        now: DateTime<Utc>,
        notes: &mut Vec<String>,
    ) -> Option<Self> {
        let mut reading = reading(call, tool);
        if tool.mcp.is_some() || message::may_be_listed(&reading.script) {
            add_listed(&mut reading, tool, &installation::header_in_force(environment).rules);
        }
        Self::of(call, tool, reading, vec![], environment, now, notes)
    }

    fn of(
        call: &'a HookCall,
        tool: &'a ToolCall,
        reading: CommandReading,
        objections: Vec<Reason>,
        environment: &Environment,
        now: DateTime<Utc>,
        notes: &mut Vec<String>,
    ) -> Option<Self> {
        notes.extend(reading.complaints);
        if reading.actions.is_empty() && objections.is_empty() {
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
            objections,
            now,
        })
    }

    /// The actions in words, for the record.
    pub fn evidence(&self) -> String {
        let words: Vec<&str> = self.actions.iter().map(|action| action.action.evidence.as_str()).collect();
        words.join("; ")
    }
}

/// What the command of a call does.
fn reading(call: &HookCall, tool: &ToolCall) -> CommandReading {
    tool.command.as_deref().map(|text| read_command(text, call.cwd.as_deref())).unwrap_or_default()
}

/// Adds what is an action only because `hosts.yaml` says so.
fn add_listed(reading: &mut CommandReading, tool: &ToolCall, rules: &Rules) {
    message::listed(&reading.script, &rules.webhooks, &mut reading.actions);
    if let Some(call) = &tool.mcp {
        reading.actions.extend(tool_actions(call, &rules.tools));
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
