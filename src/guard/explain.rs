//! Everything known about a tool call before it runs: the reading, the effects, the objections, the actions. The hook and
//! `opsctl explain` both start here.

use super::acting::{ActingCall, id};
use super::asking::subject;
use super::screen;
use crate::machine::engines::Engines;
use crate::machine::installation;
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use opsctl_inventory::Installation;
use opsctl_policy::effects::{PartEffect, strongest};
use opsctl_policy::model::records::event::{HookCall, ToolCall};
use opsctl_policy::model::records::verdict::ResolvedAction;
use opsctl_policy::screen::{Screened, changes};
use opsctl_reader::actions::CommandReading;
use opsctl_reader::shell::{Complaint, Script};
use opsctl_reader::terms::effect::Effect;

/// Everything known about a tool call before it runs.
#[derive(Default)]
pub struct Explanation<'a> {
    /// The commands that would run; empty for a tool that is not a shell.
    pub script: Script,
    /// The parts that could not be read, one sentence each.
    pub complaints: Vec<Complaint>,
    /// The actions and the objections to them; `None` if there are neither. The inventory has not been read then.
    pub acting: Option<ActingCall<'a>>,
    /// The effect of each part; empty if every effect is allowed and they were not requested.
    pub effects: Vec<PartEffect>,
    /// Problems with the source of the policy.
    pub warnings: Vec<Warning>,
}

impl Explanation<'_> {
    /// The strongest effect of its parts.
    pub fn effect(&self) -> Effect {
        let acts = if self.actions().is_empty() { Effect::Reads } else { Effect::Acts };
        strongest(&self.effects).max(acts)
    }

    /// The actions, in the order in which they run.
    pub fn actions(&self) -> &[ResolvedAction] {
        self.acting.as_ref().map_or(&[], |acting| &acting.actions)
    }
}

/// Reads a tool call that is about to run: a shell command, a tool that opens a file, or an MCP tool. Reads only the
/// first lines of the compiled policy, unless the call has an action or a rule denies it. `always` asks for the effects
/// of its parts where every effect is allowed, too.
pub fn explain<'a>(
    call: &'a HookCall,
    tool: &'a ToolCall,
    request: &Request,
    always: bool,
) -> Explanation<'a> {
    if !tool.is_judged() {
        return Explanation::default();
    }
    let header = installation::header_in_force(request);
    screen::with(&header, request, |screen| {
        let Screened { reading, effects, objections } = screen.call(tool, call.cwd.as_deref(), always);
        let CommandReading { actions, complaints, script } = reading;
        let mut explanation = Explanation { script, complaints, effects, ..Explanation::default() };
        if actions.is_empty() && objections.is_empty() && !explanation.effects.iter().any(changes) {
            return explanation;
        }
        // A guard resolves the targets itself.
        let engines = match request.guard {
            None => Engines::new(request),
            Some(_) => Engines::as_remembered(request),
        };
        let Explanation { script, effects, warnings, .. } = &mut explanation;
        let mut acting = ActingCall::resolved(id(call, tool), actions, effects, engines, request, warnings);
        // A guard makes the record and the question itself.
        if request.guard.is_none() {
            acting.shown = Some(subject::shown(tool, script, &request.secrets));
        }
        let Installation { inventory, policy, .. } = &acting.installation;
        acting.objections = objections;
        acting.objections.extend(screen.target_objections(effects, &acting.actions, inventory, policy));
        explanation.acting = Some(acting);
        explanation
    })
}
