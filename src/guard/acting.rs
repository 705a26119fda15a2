//! A tool call that acts: its actions, resolved with the policy in force.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::asking::subject::Shown;
use super::screen::disk;
use crate::machine::engines::Engines;
use crate::machine::installation;
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use opsctl_inventory::Installation;
use opsctl_ledger::{CallId, KnownContainer};
use opsctl_policy::decide::{Budgets, Decision, Reservation, Snapshot, decide, every_objection};
use opsctl_policy::effects::{PartEffect, strongest};
use opsctl_policy::model::records::event::{HookCall, ToolCall};
use opsctl_policy::model::records::verdict::{Reason, ResolvedAction, Verdict};
use opsctl_policy::model::rights::gate::Gate;
use opsctl_policy::model::rights::monitor::Objected;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::screen::{changes, read};
use opsctl_policy::targets::identity;
use opsctl_reader::actions::may_depend_on_rules;
use opsctl_reader::terms::action::Action;
use opsctl_reader::terms::effect::Effect;
use opsctl_redact::Redactor;

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
    /// The hosts that it concerns, by their names in the inventory if they have one, sorted; none: this machine.
    pub hosts: Vec<String>,
    /// The call as a person is shown it; `None` for a call that has run.
    pub shown: Option<Shown>,
    /// The gate that it is a request to; `None` for a call of the client.
    pub gate: Option<Gate>,
    /// The states before its actions, and the commands that return to them.
    pub before: String,
    /// When the call is judged.
    pub now: DateTime<Utc>,
}

impl<'a> ActingCall<'a> {
    /// Reads a tool call that has run. `None` if it has no action, and ran no file that may have had one.
    pub fn after(
        call: &'a HookCall,
        tool: &'a ToolCall,
        request: &Request,
        warnings: &mut Vec<Warning>,
    ) -> Option<Self> {
        let of = |rules: &Rules| read(tool, call.cwd.as_deref(), rules, &|| disk(request));
        let mut reading = of(&Rules::default());
        // Few commands need the rules after they have run: they are in a file.
        if tool.mcp.is_some() || may_depend_on_rules(&reading.script) {
            reading = of(&installation::header_in_force(request).rules);
        }
        warnings.extend(reading.complaints.into_iter().map(Warning::Command));
        // A script may have changed or removed itself; what was reserved for it is settled in any case.
        (!reading.actions.is_empty() || reading.script.looks_at_files).then(|| {
            let engines = Engines::as_remembered(request);
            Self::resolved(id(call, tool), reading.actions, &[], engines, request, warnings)
        })
    }

    /// A call with these actions and effects, resolved with the inventory. No rule objects to it yet.
    pub(super) fn resolved(
        id: CallId<'a>,
        actions: Vec<Action>,
        effects: &[PartEffect],
        engines: Engines<'_>,
        request: &Request,
        warnings: &mut Vec<Warning>,
    ) -> Self {
        let mut changing: Vec<String> =
            effects.iter().filter(|part| changes(part)).map(|part| part.form.clone()).collect();
        changing.dedup();
        let compiled = installation::in_force(request, warnings);
        let Installation { inventory, policy, .. } = &compiled.installation;
        let mut actions = identity::resolve(actions, inventory, policy.resolve, &engines);
        for action in &mut actions {
            redact_action(action, &request.secrets);
        }
        let of_parts = effects.iter().flat_map(|part| &part.hosts).map(|host| inventory.host_of(host));
        let of_actions = actions.iter().filter_map(|action| action.host.as_deref());
        let hosts: BTreeSet<String> =
            of_parts.chain(of_actions).map(|host| opsctl_redact::name(host).into_owned()).collect();
        Self {
            id,
            hosts: hosts.into_iter().collect(),
            actions,
            tier: request.tier.or(compiled.tier),
            installation: compiled.installation,
            objections: vec![],
            effect: (!effects.is_empty()).then(|| strongest(effects)),
            changing,
            shown: None,
            gate: None,
            before: String::new(),
            now: request.now,
            known: engines.into_known(),
        }
    }

    /// The decision of the rules alone: no person has approved or granted anything.
    pub(super) fn by_rules(&self, snapshot: &Snapshot, now: DateTime<Utc>) -> Decision {
        if !self.objections.is_empty() {
            return Decision { verdict: Verdict::Deny(self.objections.clone()), reservations: vec![] };
        }
        let policy = &self.installation.policy;
        decide(&self.actions, Budgets { policy, usage: snapshot, now }, self.tier)
    }

    /// The budgets of the policy with this usage, now.
    pub const fn budgets<'b>(&'b self, usage: &'b Snapshot) -> Budgets<'b> {
        Budgets { policy: &self.installation.policy, usage, now: self.now }
    }

    /// All objections with this usage, and the reservations that the call needs if a person lifts them.
    pub fn all_objections(&self, snapshot: &Snapshot) -> (Vec<Reason>, Vec<Reservation>) {
        let (more, reservations) = every_objection(&self.actions, self.budgets(snapshot), self.tier);
        (self.objections.iter().cloned().chain(more).collect(), reservations)
    }

    /// Whether the policy only watches all these objections.
    pub(super) fn is_watched(&self, reasons: &[Reason]) -> bool {
        let monitor = &self.installation.policy.monitor;
        if monitor.is_off() {
            return false;
        }
        let kinds: Vec<_> = self.actions.iter().map(|action| action.action.kind).collect();
        let &Self { tier, gate, .. } = self;
        monitor.watches(reasons, &Objected { tier, hosts: &self.hosts, kinds: &kinds, gate })
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

/// The id of a call in the ledger.
pub(super) fn id<'a>(call: &'a HookCall, tool: &'a ToolCall) -> CallId<'a> {
    // An empty id identifies no call.
    CallId { session: call.session.as_deref(), tool_use: tool.id.as_deref().filter(|id| !id.is_empty()) }
}

/// Removes secrets from the names and texts of an action, which are recorded and shown.
fn redact_action(found: &mut ResolvedAction, secrets: &Redactor) {
    // The name of a listed service is no secret, and identifies its budget.
    let service = if found.listed { &mut None } else { &mut found.service };
    for name in [service, &mut found.host].into_iter().flatten() {
        *name = opsctl_redact::name(name).into_owned();
    }
    for text in [&mut found.note, &mut found.action.title].into_iter().flatten() {
        *text = secrets.text_here(text).into_owned();
    }
    found.action.evidence = secrets.text_here(&found.action.evidence).into_owned();
}
