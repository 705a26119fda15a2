//! A tool call that acts: its actions, resolved with the policy in force.

use chrono::{DateTime, Utc};

use crate::actions::tool::find_actions as tool_actions;
use crate::actions::{CommandReading, may_depend_on_rules, message, read_command_on};
use crate::inventory::Installation;
use crate::ledger::CallId;
use crate::model::action::Action;
use crate::model::effect::Effect;
use crate::model::event::{HookCall, ToolCall};
use crate::model::inventory::Inventory;
use crate::model::policy::Tier;
use crate::model::rules::Rules;
use crate::model::verdict::{Reason, ResolvedAction};
use crate::policy::effect::{PartEffect, strongest};
use crate::runtime::disk::LocalDisk;
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
    /// The effect of the call; `None` if it is not needed.
    pub effect: Option<Effect>,
    /// Programs and verbs of the parts that change something, or may.
    pub changing: Vec<String>,
    /// When the call is judged.
    pub now: DateTime<Utc>,
}

impl<'a> ActingCall<'a> {
    /// Reads a tool call that has run. `None` if it has no action, and ran no file that may have had one.
    pub fn after(
        call: &'a HookCall,
        tool: &'a ToolCall,
        environment: &Environment,
        now: DateTime<Utc>,
        warnings: &mut Vec<Warning>,
    ) -> Option<Self> {
        let mut reading = read(call, tool, &Rules::default());
        // Few commands need the rules after they have run: they are in a file.
        if tool.mcp.is_some() || may_depend_on_rules(&reading.script) {
            reading = read(call, tool, &installation::header_in_force(environment).rules);
        }
        warnings.extend(reading.complaints.into_iter().map(Warning::Command));
        // A script may have changed or removed itself; what was reserved for it is settled in any case.
        (!reading.actions.is_empty() || reading.script.looks_at_files)
            .then(|| Self::resolved(call, tool, reading.actions, (vec![], &[]), environment, now, warnings))
    }

    /// `None` if there is no action, no objection and no effect beyond reading; the inventory is not read then.
    pub(super) fn of(
        call: &'a HookCall,
        tool: &'a ToolCall,
        actions: Vec<Action>,
        (objections, effects): (Vec<Reason>, &[PartEffect]),
        environment: &Environment,
        now: DateTime<Utc>,
        warnings: &mut Vec<Warning>,
    ) -> Option<Self> {
        let is_quiet = actions.is_empty() && objections.is_empty() && !effects.iter().any(changes);
        (!is_quiet)
            .then(|| Self::resolved(call, tool, actions, (objections, effects), environment, now, warnings))
    }

    fn resolved(
        call: &'a HookCall,
        tool: &'a ToolCall,
        actions: Vec<Action>,
        (objections, effects): (Vec<Reason>, &[PartEffect]),
        environment: &Environment,
        now: DateTime<Utc>,
        warnings: &mut Vec<Warning>,
    ) -> Self {
        let mut changing: Vec<String> =
            effects.iter().filter(|part| changes(part)).map(|part| part.form.clone()).collect();
        changing.dedup();
        let compiled = installation::in_force(environment, warnings);
        let actions = resolve(actions, &compiled.installation.inventory);
        Self {
            id: CallId {
                session: call.session.as_deref(),
                // An empty id identifies no call.
                tool_use: tool.id.as_deref().filter(|id| !id.is_empty()),
            },
            actions,
            tier: environment.tier.or(compiled.tier),
            installation: compiled.installation,
            objections,
            effect: (!effects.is_empty()).then(|| strongest(effects)),
            changing,
            now,
        }
    }

    /// The actions as text, as they are recorded.
    pub fn evidence(&self) -> String {
        let actions = self.actions.iter().map(|action| action.action.evidence.as_str());
        let changing = self.changing.iter().filter(|form| !form.is_empty()).map(String::as_str);
        actions.chain(changing).collect::<Vec<_>>().join("; ")
    }
}

/// Whether a part of a call changes something, or may.
fn changes(part: &PartEffect) -> bool {
    matches!(part.effect, Effect::Changes | Effect::Unknown)
}

/// Reads the shell command or the call of an MCP tool, with the programs, webhooks and tools that `hosts.yaml` describes.
pub(super) fn read(call: &HookCall, tool: &ToolCall, rules: &Rules) -> CommandReading {
    let command = tool.command.as_deref();
    let mut reading = command
        .map(|text| read_command_on(text, call.cwd.as_deref(), rules.catalogue, Some(&LocalDisk)))
        .unwrap_or_default();
    message::listed(&reading.script, &rules.webhooks, &mut reading.actions);
    if let Some(call) = &tool.mcp {
        reading.actions.extend(tool_actions(call, &rules.tools));
    }
    reading
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
