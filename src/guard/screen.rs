//! The objections of the rules about commands and files, which apply to every tool call.

use std::path::Path;

use crate::inventory::compiled::PolicyHeader;
use crate::model::effect::Effect;
use crate::model::event::{ToolCall, ToolFile};
use crate::model::verdict::Reason;
use crate::policy::effect::{self, PartEffect, Scratch, Why};
use crate::policy::files::{self, Access, Touch};
use crate::policy::word_paths::normal;
use crate::policy::{dry_run, never, tier};
use crate::runtime::agent_side;
use crate::runtime::environment::Environment;
use crate::runtime::installation;
use crate::runtime::machine::Machine;
use crate::runtime::own_files;
use crate::shell::{Command, Script};

/// The objections to a command.
pub fn objections(script: &Script, header: &PolicyHeader, environment: &Environment) -> Vec<Reason> {
    let tier = environment.tier.or(header.tier);
    let mut reasons = never::objections(script, &header.rules, tier, &Machine::default());
    reasons.extend(tier.and_then(|tier| tier::denied(script, &header.deny, tier)));
    reasons.extend(files::objections(
        script,
        &header.rules,
        &|| own_files::locations(environment),
        &Machine::default(),
    ));
    reasons
}

/// Whether the effect of a call is needed: a tier or a dry run limits effects, and the audit records them.
pub fn asks_for_effects(header: &PolicyHeader, environment: &Environment) -> bool {
    environment.dry_run || environment.tier.or(header.tier).is_some()
}

/// Whether the tier and the dry run allow a call whose effect is unknown.
pub fn allows_unknown(environment: &Environment) -> bool {
    let header = installation::header_in_force(environment);
    let tier = environment.tier.or(header.tier);
    !environment.dry_run && tier.is_none_or(|tier| header.effects(tier).contains(&Effect::Unknown))
}

/// The effect of each part of a command.
pub fn effects(script: &Script, header: &PolicyHeader, environment: &Environment) -> Vec<PartEffect> {
    effect::parts(script, &scratch(environment), &header.rules.secret, &Machine::default())
}

/// The objections to the effects of the parts of a call.
pub fn effect_objections(
    parts: &[PartEffect],
    header: &PolicyHeader,
    environment: &Environment,
) -> Vec<Reason> {
    let tier = environment.tier.or(header.tier);
    let mut reasons = tier
        .map(|tier| tier::effect_objections(parts, |tier| header.effects(tier), tier))
        .unwrap_or_default();
    if environment.dry_run {
        reasons.extend(dry_run::effect_objections(parts));
    }
    reasons
}

/// The effect of a tool without a shell; `None` for a tool that carries out an action.
pub fn tool_effect(tool: &ToolCall, header: &PolicyHeader, environment: &Environment) -> Option<PartEffect> {
    let part = |text: String, effect, why| {
        Some(PartEffect {
            form: text.clone(),
            text,
            whereabouts: String::new(),
            hosts: vec![],
            effect,
            why,
            instead: None,
        })
    };
    if let Some(file) = tool.file.as_ref().filter(|file| file.writes) {
        let command = Command::default();
        let is_scratch = effect::is_scratch(&file.path, &command, &scratch(environment), &Machine::default());
        let effect = if is_scratch { Effect::Reads } else { Effect::Changes };
        return part(format!("write {}", file.path), effect, Why::Writes(file.path.clone()));
    }
    let call = tool.mcp.as_ref()?;
    if header.rules.tools.iter().any(|rule| rule.tool == call.tool) {
        return None;
    }
    let stated =
        header.rules.tool_effects.iter().find(|(tool, _)| *tool == call.tool).map(|(_, effect)| *effect);
    part(call.tool.clone(), stated.unwrap_or(Effect::Unknown), Why::Tool)
}

/// The folders that sessions may write at any tier: those for temporary files and for results.
fn scratch(environment: &Environment) -> Scratch {
    let mut scratch = Scratch::default();
    let here = std::env::current_dir().unwrap_or_default();
    let absolute = |path: &Path| normal(&here.join(path).to_string_lossy());
    scratch.0.push(format!("{}/**", absolute(&environment.results_dir())));
    scratch.0.push(format!("{}/handoff.json", absolute(environment.session_state_dir())));
    scratch.0.extend(
        agent_side::variable("TMPDIR")
            .filter(|dir| dir.starts_with("/tmp/") || dir.starts_with("/var/tmp/"))
            .map(|dir| format!("{}/**", normal(&dir))),
    );
    scratch
}

/// The objections to a tool that opens a file without a shell.
pub fn file_objections(
    file: &ToolFile,
    cwd: Option<&Path>,
    header: &PolicyHeader,
    environment: &Environment,
) -> Vec<Reason> {
    let touch = if file.writes { Touch::Write } else { Touch::Read };
    let access = Access::named(touch, file.path.clone(), false);
    let cwd = cwd.and_then(Path::to_str);
    files::tool_objections(
        &[access],
        cwd,
        &header.rules,
        &|| own_files::locations(environment),
        &Machine::default(),
    )
}
