//! Everything known about a tool call before it runs. The hook and `opsctl explain` both start here, so that their
//! answers cannot differ.

use chrono::{DateTime, Utc};

use super::acting::{ActingCall, read};
use super::asking::subject;
use super::{judge, screen};
use crate::model::effect::Effect;
use crate::model::event::{HookCall, ToolCall};
use crate::model::verdict::{ResolvedAction, Verdict};
use crate::policy::effect::{PartEffect, strongest};
use crate::policy::{dry_run, hosts, modes};
use crate::runtime::engines::Engines;
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::runtime::warning::Warning;
use crate::shell::Complaint;
use crate::shell::Script;

/// Everything known about a tool call before it runs.
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

    /// The verdict that the hook would give now. Reserves and records nothing.
    pub fn preview(&mut self, environment: &Environment, warnings: &mut Vec<Warning>) -> Verdict {
        self.acting.as_mut().map_or(Verdict::Silent, |acting| judge::preview(acting, environment, warnings))
    }
}

/// Reads a tool call that is about to run: a shell command, a tool that opens a file, or an MCP tool. Reads only the
/// first lines of the compiled policy, unless the call has an action or a rule denies it. `always` asks for the effects
/// of its parts where every effect is allowed, too.
pub fn explain<'a>(
    call: &'a HookCall,
    tool: &'a ToolCall,
    environment: &Environment,
    now: DateTime<Utc>,
    always: bool,
) -> Explanation<'a> {
    let mut warnings = Vec::new();
    if tool.command.is_none() && tool.file.is_none() && tool.mcp.is_none() {
        return Explanation {
            script: Script::default(),
            complaints: vec![],
            acting: None,
            effects: vec![],
            warnings,
        };
    }
    let header = installation::header_in_force(environment);
    let reading = read(call, tool, &header.rules);
    let mut objections = screen::objections(&reading.script, &header, environment);
    if let Some(file) = &tool.file {
        objections.extend(screen::file_objections(file, call.cwd.as_deref(), &header, environment));
    }
    let mut effects = if always || screen::asks_for_effects(&header, environment) {
        screen::effects(&reading.script, &header, environment)
    } else {
        vec![]
    };
    effects.extend(screen::tool_effect(tool, &header, environment));
    objections.extend(screen::effect_objections(&effects, &header, environment));
    // A guard resolves the targets itself.
    let engines = || match environment.guard {
        None => Engines::new(environment, now),
        Some(_) => Engines::as_remembered(environment, now),
    };
    let mut acting = ActingCall::of(
        call,
        tool,
        reading.actions,
        (objections, &effects),
        environment,
        engines,
        &mut warnings,
    );
    if let Some(acting) = &mut acting {
        let policy = &acting.installation.policy;
        acting.objections.extend(modes::objections(&acting.actions, policy, environment.mode));
        let inventory = &acting.installation.inventory;
        acting.objections.extend(hosts::objections(
            &effects,
            &acting.actions,
            inventory,
            policy,
            acting.tier,
        ));
        if environment.dry_run {
            acting.objections.extend(dry_run::objections(&acting.actions));
        }
        if !acting.installation.policy.ask.is_empty() {
            acting.shown = Some(subject::shown(tool, &reading.script));
        }
    }
    Explanation { script: reading.script, complaints: reading.complaints, acting, effects, warnings }
}
