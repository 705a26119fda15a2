//! The reading of a tool call, its effects, and the objections of the rules that need neither targets nor history.

use std::path::Path;
use std::rc::Rc;

use crate::effects;
use crate::effects::{PartEffect, Scratch, Why};
use crate::files;
use crate::files::guarded::Locations;
use crate::files::{Access, Touch};
use crate::model::installation::inventory::Inventory;
use crate::model::records::event::{ToolCall, ToolFile};
use crate::model::records::verdict::{Reason, ResolvedAction};
use crate::model::rights::header::PolicyHeader;
use crate::model::rights::policy::{Policy, Tier};
use crate::model::rights::rules::Rules;
use crate::paths::word_paths::LocalMachine;
use crate::rules::{created, dry_run, hosts, modes, never, secrets, tier, tool};
use opsctl_reader::actions::{CommandReading, message, read_command_on};
use opsctl_reader::shell::disk::Disk;
use opsctl_reader::shell::{Command, Script};
use opsctl_reader::terms::effect::Effect;
use opsctl_reader::terms::mode::Mode;

/// A session whose tool calls are screened: the rules that apply to it, and where it runs.
#[derive(Clone, Copy)]
pub struct Screen<'a> {
    /// The rules in force.
    pub header: &'a PolicyHeader,
    /// The tier of the session; `None` without tiers.
    pub tier: Option<Tier>,
    /// How the session was started.
    pub mode: Option<Mode>,
    /// Whether nothing may be changed or carried out.
    pub dry_run: bool,
    /// The machine of the session.
    pub machine: &'a dyn LocalMachine,
    /// Its scripts; `None`: no file is read.
    pub disk: &'a dyn Fn() -> Option<Rc<dyn Disk>>,
    /// Where the files of the guard are.
    pub locations: &'a dyn Fn() -> Locations,
    /// The folders that sessions may write at any tier.
    pub scratch: &'a dyn Fn() -> Scratch,
}

/// What is known about a tool call without targets and history.
#[derive(Debug, Default)]
pub struct Screened {
    /// The commands that would run, and their actions.
    pub reading: CommandReading,
    /// The effect of each part; empty if every effect is allowed and they were not requested.
    pub effects: Vec<PartEffect>,
    /// What the rules object to.
    pub objections: Vec<Reason>,
}

impl Screened {
    /// Whether it carries out no action, changes nothing, and no rule objects to it.
    pub fn is_quiet(&self) -> bool {
        self.reading.actions.is_empty() && self.objections.is_empty() && !self.effects.iter().any(changes)
    }
}

impl Screen<'_> {
    /// Reads a tool call. `always` asks for the effects of its parts where every effect is allowed, too.
    pub fn call(&self, tool: &ToolCall, cwd: Option<&Path>, always: bool) -> Screened {
        let reading = read(tool, cwd, &self.header.rules, self.disk);
        let mut objections = self.objections(&reading.script);
        let unchecked = tool.unchecked.iter();
        objections.extend(unchecked.map(|text| Reason { rule: "effect", topic: None, text: text.clone() }));
        for file in &tool.files {
            objections.extend(self.file_objections(file, cwd));
        }
        let is_limited = self.dry_run || self.tier.is_some();
        let mut effects = if always || is_limited { self.effects(&reading.script) } else { vec![] };
        effects.extend(tool.files.iter().filter(|file| file.writes).map(|file| self.write_effect(file)));
        effects.extend(self.tool_effect(tool));
        objections.extend(self.effect_objections(&effects));
        Screened { reading, effects, objections }
    }

    /// The objections to what the parts and actions of a call do to the targets and hosts of the inventory.
    pub fn target_objections(
        &self,
        effects: &[PartEffect],
        actions: &[ResolvedAction],
        inventory: &Inventory,
        policy: &Policy,
    ) -> Vec<Reason> {
        let mut reasons = modes::objections(actions, policy, self.mode);
        reasons.extend(hosts::objections(effects, actions, inventory, policy, self.tier));
        reasons.extend(hosts::leaving(effects, inventory, policy, self.tier));
        reasons.extend(hosts::revealing(effects, inventory));
        reasons.extend(hosts::logging_in(effects, inventory, policy, self.tier));
        reasons.extend(created::objections(actions, &self.header.rules, !inventory.services.is_empty()));
        if self.dry_run {
            reasons.extend(dry_run::objections(actions));
        }
        reasons
    }

    /// Whether the tier and the dry run allow a call whose effect is unknown.
    pub fn allows_unknown(&self) -> bool {
        let allows = |tier| self.header.effects(tier).contains(&Effect::Unknown);
        !self.dry_run && self.tier.is_none_or(allows)
    }

    /// The objections to a tool that opens a file without a shell.
    pub fn file_objections(&self, file: &ToolFile, cwd: Option<&Path>) -> Vec<Reason> {
        let touch = if file.writes { Touch::Write } else { Touch::Read };
        let mut accesses = vec![Access::named(touch, file.path.clone(), false)];
        if let Some(search) = &file.search {
            accesses.extend(files::searched(&search.folder, &search.names));
        }
        let cwd = cwd.and_then(Path::to_str);
        self.machine.begin();
        files::tool_objections(&accesses, cwd, &self.header.rules, self.locations, self.machine)
    }

    fn objections(&self, script: &Script) -> Vec<Reason> {
        let Self { header, tier, machine, .. } = *self;
        machine.begin();
        let mut reasons = never::objections(script, &header.rules, tier, machine);
        reasons.extend(secrets::objections(script, tier));
        reasons.extend(tier.and_then(|tier| tier::denied(script, &header.deny, tier)));
        machine.begin();
        reasons.extend(files::objections(script, &header.rules, self.locations, machine));
        reasons
    }

    fn effects(&self, script: &Script) -> Vec<PartEffect> {
        self.machine.begin();
        effects::parts(script, &(self.scratch)(), &self.header.rules, self.machine)
    }

    fn effect_objections(&self, parts: &[PartEffect]) -> Vec<Reason> {
        let of_tier = |tier| tier::effect_objections(parts, |tier| self.header.effects(tier), tier);
        let mut reasons = self.tier.map(of_tier).unwrap_or_default();
        if self.dry_run {
            reasons.extend(dry_run::effect_objections(parts));
        }
        reasons
    }

    /// The effect of writing a file.
    fn write_effect(&self, file: &ToolFile) -> PartEffect {
        self.machine.begin();
        let is_scratch =
            effects::is_scratch(&file.path, &Command::default(), &(self.scratch)(), self.machine);
        let effect = if is_scratch { Effect::Reads } else { Effect::Changes };
        let text = format!("write {}", file.path);
        PartEffect { form: text.clone(), ..PartEffect::of(text, effect, Why::Writes(file.path.clone())) }
    }

    /// The effect of an MCP tool; `None` for one that carries out an action.
    fn tool_effect(&self, tool: &ToolCall) -> Option<PartEffect> {
        let call = tool.mcp.as_ref()?;
        let rules = &self.header.rules;
        if rules.tools.iter().any(|rule| rule.tool == call.tool) {
            return None;
        }
        let stated =
            rules.tool_effects.iter().find(|(tool, _)| *tool == call.tool).map(|(_, effect)| *effect);
        let (text, effect) = (call.tool.clone(), stated.unwrap_or(Effect::Unknown));
        Some(PartEffect { form: text.clone(), ..PartEffect::of(text, effect, Why::Tool) })
    }
}

/// Reads the shell command or the call of an MCP tool, with the programs, webhooks and tools that `hosts.yaml` describes.
pub fn read(
    tool: &ToolCall,
    cwd: Option<&Path>,
    rules: &Rules,
    disk: &dyn Fn() -> Option<Rc<dyn Disk>>,
) -> CommandReading {
    let command = tool.command.as_deref();
    let mut reading =
        command.map(|text| read_command_on(text, cwd, rules.catalogue, disk())).unwrap_or_default();
    message::listed(&reading.script, &rules.webhooks, &mut reading.actions);
    if let Some(call) = &tool.mcp {
        reading.actions.extend(tool::find_actions(call, &rules.tools));
    }
    reading
}

/// Whether a part of a call changes something, may, or sends what another part prints, or a secret.
pub fn changes(part: &PartEffect) -> bool {
    matches!(part.effect, Effect::Changes | Effect::Unknown)
        || !part.sends_to.is_empty()
        || !part.reveals_to.is_empty()
        || !part.logs_in_at.is_empty()
}
