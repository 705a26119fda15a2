//! The objections of the rules about commands and files, which apply to every tool call.

use std::path::Path;

use crate::machine::client::own_files;
use crate::machine::local::Machine;
use crate::machine::request::Request;
use opsctl_inventory::compiled::PolicyHeader;
use opsctl_policy::effects;
use opsctl_policy::effects::{PartEffect, Scratch, Why};
use opsctl_policy::files;
use opsctl_policy::files::{Access, Touch};
use opsctl_policy::model::records::event::{ToolCall, ToolFile};
use opsctl_policy::model::records::verdict::Reason;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::paths::word_paths::normal;
use opsctl_policy::rules::{dry_run, never, tier};
use opsctl_reader::shell::{Command, Script};
use opsctl_reader::terms::effect::Effect;

/// The rules that apply to a request.
pub struct Screen<'a> {
    header: &'a PolicyHeader,
    request: &'a Request,
    tier: Option<Tier>,
}

impl<'a> Screen<'a> {
    /// The rules of a policy, for the tier of the request.
    pub fn new(header: &'a PolicyHeader, request: &'a Request) -> Self {
        Self { header, request, tier: request.tier.or(header.tier) }
    }

    fn machine(&self) -> Machine<'_> {
        Machine::of(&self.request.agent)
    }

    /// The objections to a command.
    pub fn objections(&self, script: &Script) -> Vec<Reason> {
        let Self { header, request, tier } = self;
        let mut reasons = never::objections(script, &header.rules, *tier, &self.machine());
        reasons.extend(tier.and_then(|tier| tier::denied(script, &header.deny, tier)));
        let locations = || own_files::locations(request);
        reasons.extend(files::objections(script, &header.rules, &locations, &self.machine()));
        reasons
    }

    /// Whether the effect of a call is needed: a tier or a dry run limits effects, and the audit records them.
    pub fn asks_for_effects(&self) -> bool {
        self.request.dry_run || self.tier.is_some()
    }

    /// Whether the tier and the dry run allow a call whose effect is unknown.
    pub fn allows_unknown(&self) -> bool {
        let allows = |tier| self.header.effects(tier).contains(&Effect::Unknown);
        !self.request.dry_run && self.tier.is_none_or(allows)
    }

    /// The effect of each part of a command.
    pub fn effects(&self, script: &Script) -> Vec<PartEffect> {
        effects::parts(script, &self.scratch(), &self.header.rules.secret, &self.machine())
    }

    /// The objections to the effects of the parts of a call.
    pub fn effect_objections(&self, parts: &[PartEffect]) -> Vec<Reason> {
        let of_tier = |tier| tier::effect_objections(parts, |tier| self.header.effects(tier), tier);
        let mut reasons = self.tier.map(of_tier).unwrap_or_default();
        if self.request.dry_run {
            reasons.extend(dry_run::effect_objections(parts));
        }
        reasons
    }

    /// The effect of a tool without a shell; `None` for a tool that carries out an action.
    pub fn tool_effect(&self, tool: &ToolCall) -> Option<PartEffect> {
        let part = |text: String, effect, why| {
            let (form, whereabouts) = (text.clone(), String::new());
            Some(PartEffect { form, text, whereabouts, hosts: vec![], effect, why, instead: None })
        };
        if let Some(file) = tool.file.as_ref().filter(|file| file.writes) {
            let command = Command::default();
            let is_scratch = effects::is_scratch(&file.path, &command, &self.scratch(), &self.machine());
            let effect = if is_scratch { Effect::Reads } else { Effect::Changes };
            return part(format!("write {}", file.path), effect, Why::Writes(file.path.clone()));
        }
        let call = tool.mcp.as_ref()?;
        let rules = &self.header.rules;
        if rules.tools.iter().any(|rule| rule.tool == call.tool) {
            return None;
        }
        let stated =
            rules.tool_effects.iter().find(|(tool, _)| *tool == call.tool).map(|(_, effect)| *effect);
        part(call.tool.clone(), stated.unwrap_or(Effect::Unknown), Why::Tool)
    }

    /// The folders that sessions may write at any tier: those for temporary files and for results.
    fn scratch(&self) -> Scratch {
        let request = self.request;
        let here = std::env::current_dir().unwrap_or_default();
        let absolute = |path: &Path| normal(&here.join(path).to_string_lossy());
        let temporary = request.agent.variable("TMPDIR");
        let temporary = temporary.filter(|dir| dir.starts_with("/tmp/") || dir.starts_with("/var/tmp/"));
        let mut scratch = Scratch::default();
        scratch.0.push(format!("{}/**", absolute(&request.results_dir())));
        scratch.0.push(format!("{}/handoff.json", absolute(request.session_state_dir())));
        scratch.0.extend(temporary.map(|dir| format!("{}/**", normal(&dir))));
        scratch
    }

    /// The objections to a tool that opens a file without a shell.
    pub fn file_objections(&self, file: &ToolFile, cwd: Option<&Path>) -> Vec<Reason> {
        let touch = if file.writes { Touch::Write } else { Touch::Read };
        let access = Access::named(touch, file.path.clone(), false);
        let cwd = cwd.and_then(Path::to_str);
        let locations = || own_files::locations(self.request);
        files::tool_objections(&[access], cwd, &self.header.rules, &locations, &self.machine())
    }
}
