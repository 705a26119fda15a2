//! A tool call that acts: its actions, resolved with the policy in force.

use chrono::{DateTime, Utc};

use crate::actions::{CommandReading, may_depend_on_rules, message, read_command_on};
use crate::inventory::Installation;
use crate::ledger::{CallId, KnownContainer};
use crate::model::action::Action;
use crate::model::effect::Effect;
use crate::model::event::{HookCall, ToolCall};
use crate::model::inventory::Inventory;
use crate::model::policy::{Resolve, Tier};
use crate::model::rules::Rules;
use crate::model::verdict::{Reason, ResolvedAction};
use crate::policy::effect::{PartEffect, strongest};
use crate::policy::identity::{self, NoSurroundings};
use crate::policy::tool::find_actions as tool_actions;
use crate::redact;
use crate::runtime::disk::LocalDisk;
use crate::runtime::engines::Engines;
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::runtime::warning::Warning;

/// A tool call that has at least one action, or that a rule denies.
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
    /// The containers that engines have named for the IDs of the call.
    pub known: Vec<KnownContainer>,
    /// The call as a person is shown it; `None` if the policy asks nothing.
    pub shown: Option<String>,
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
        (!reading.actions.is_empty() || reading.script.looks_at_files).then(|| {
            let engines = Engines::as_remembered(environment, now);
            Self::resolved(call, tool, reading.actions, (vec![], &[]), environment, engines, warnings)
        })
    }

    /// `None` if there is no action, no rule denies the call, and it only reads; the inventory is not read then.
    pub(super) fn of<'e>(
        call: &'a HookCall,
        tool: &'a ToolCall,
        actions: Vec<Action>,
        (objections, effects): (Vec<Reason>, &[PartEffect]),
        environment: &Environment,
        engines: impl FnOnce() -> Engines<'e>,
        warnings: &mut Vec<Warning>,
    ) -> Option<Self> {
        let is_quiet = actions.is_empty() && objections.is_empty() && !effects.iter().any(changes);
        (!is_quiet).then(|| {
            Self::resolved(call, tool, actions, (objections, effects), environment, engines(), warnings)
        })
    }

    fn resolved(
        call: &'a HookCall,
        tool: &'a ToolCall,
        actions: Vec<Action>,
        (objections, effects): (Vec<Reason>, &[PartEffect]),
        environment: &Environment,
        engines: Engines<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Self {
        let mut changing: Vec<String> =
            effects.iter().filter(|part| changes(part)).map(|part| part.form.clone()).collect();
        changing.dedup();
        let compiled = installation::in_force(environment, warnings);
        let Installation { inventory, policy, .. } = &compiled.installation;
        let mut actions = identity::resolve(actions, inventory, policy.resolve, &engines);
        actions.iter_mut().for_each(redact_action);
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
            shown: None,
            now: engines.now(),
            known: engines.into_known(),
        }
    }

    /// The actions as text, as they are recorded.
    pub fn evidence(&self) -> String {
        // An action on several services is one text.
        let is_first = |(at, found): &(usize, &ResolvedAction)| {
            let before = at.checked_sub(1).and_then(|before| self.actions.get(before));
            before.is_none_or(|before| before.action != found.action || before.service == found.service)
        };
        let actions = self.actions.iter().enumerate().filter(is_first);
        let actions = actions.map(|(_, action)| action.action.evidence.as_str());
        let changing = self.changing.iter().filter(|form| !form.is_empty()).map(String::as_str);
        actions.chain(changing).collect::<Vec<_>>().join("; ")
    }
}

/// Removes secrets from the names and texts of an action, which are recorded and shown.
fn redact_action(found: &mut ResolvedAction) {
    // The name of a listed service is no secret, and identifies its budget.
    let service = if found.listed { &mut None } else { &mut found.service };
    for name in [service, &mut found.host].into_iter().flatten() {
        *name = redact::name(name).into_owned();
    }
    for text in [&mut found.note, &mut found.action.title].into_iter().flatten() {
        *text = redact::text(text).into_owned();
    }
    found.action.evidence = redact::text(&found.action.evidence).into_owned();
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

/// Looks up the targets and hosts of the actions in the inventory, and asks no engine.
pub fn resolve(actions: Vec<Action>, inventory: &Inventory) -> Vec<ResolvedAction> {
    identity::resolve(actions, inventory, Resolve { local: false, ssh: false }, &NoSurroundings)
}
