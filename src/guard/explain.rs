//! Everything known about a tool call before it runs: the reading, the effects, the objections, the actions. The hook and
//! `opsctl explain` both start here.

use super::acting::{ActingCall, changes, read};
use super::asking::subject;
use super::screen::Screen;
use crate::machine::engines::Engines;
use crate::machine::installation;
use crate::machine::request::Request;
use crate::machine::warning::Warning;
use opsctl_policy::effects::{PartEffect, strongest};
use opsctl_policy::model::records::event::{HookCall, ToolCall};
use opsctl_policy::model::records::verdict::ResolvedAction;
use opsctl_policy::rules::{dry_run, hosts, modes};
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
    if tool.command.is_none() && tool.file.is_none() && tool.mcp.is_none() {
        return Explanation::default();
    }
    let header = installation::header_in_force(request);
    let reading = read(call, tool, &header.rules, request);
    let screen = Screen::new(&header, request);
    let mut objections = screen.objections(&reading.script);
    if let Some(file) = &tool.file {
        objections.extend(screen.file_objections(file, call.cwd.as_deref()));
    }
    let mut effects =
        if always || screen.asks_for_effects() { screen.effects(&reading.script) } else { vec![] };
    effects.extend(screen.tool_effect(tool));
    objections.extend(screen.effect_objections(&effects));
    let mut explanation = Explanation {
        script: reading.script,
        complaints: reading.complaints,
        effects,
        ..Explanation::default()
    };
    let is_quiet =
        reading.actions.is_empty() && objections.is_empty() && !explanation.effects.iter().any(changes);
    if is_quiet {
        return explanation;
    }
    // A guard resolves the targets itself.
    let engines = match request.guard {
        None => Engines::new(request),
        Some(_) => Engines::as_remembered(request),
    };
    let Explanation { script, effects, warnings, .. } = &mut explanation;
    let mut acting = ActingCall::resolved(call, tool, reading.actions, effects, engines, request, warnings);
    let policy = &acting.installation.policy;
    objections.extend(modes::objections(&acting.actions, policy, request.mode));
    let inventory = &acting.installation.inventory;
    objections.extend(hosts::objections(effects, &acting.actions, inventory, policy, acting.tier));
    if request.dry_run {
        objections.extend(dry_run::objections(&acting.actions));
    }
    if !policy.ask.is_empty() {
        acting.shown = Some(subject::shown(tool, script));
    }
    acting.objections = objections;
    explanation.acting = Some(acting);
    explanation
}
