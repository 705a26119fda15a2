//! The header of a compiled policy: the first lines, which hooks read without the rest.

use std::io::BufRead;

use super::enforced::EnforcedRules;
use super::file::{Compiled, FORMAT};
use opsctl_policy::model::rights::policy::{Tier, TierPolicy};
use opsctl_policy::model::rights::rules::Rules;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::terms::effect::Effect;

/// The most lines that a header has.
const MOST_LINES: usize = 8;

/// The key of the first line after the header.
const END: &str = "\"installation\"";

/// The part of a compiled policy that is enforced on every command, including those without an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyHeader {
    /// The tier that the files are rendered for, if any.
    pub tier: Option<Tier>,
    /// The rules about commands, files and tools.
    pub rules: Rules,
    /// Command prefixes that are denied at tiers 1, 2 and 3, in this order.
    pub deny: [Vec<String>; 3],
    /// What commands of tiers 1, 2 and 3 may do where they carry out no action, in this order; `None`: the defaults.
    pub effects: Option<[Vec<Effect>; 3]>,
}

impl Default for PolicyHeader {
    fn default() -> Self {
        let deny = Tier::ALL.map(TierPolicy::default_deny);
        Self { tier: None, rules: Rules::default(), deny, effects: None }
    }
}

impl From<Compiled> for PolicyHeader {
    fn from(compiled: Compiled) -> Self {
        let EnforcedRules { rules, deny, effects } = EnforcedRules::of(&compiled.installation.policy);
        Self { tier: compiled.tier, rules, deny, effects: Some(effects) }
    }
}

impl PolicyHeader {
    /// What commands of a tier may do where they carry out no action.
    pub fn effects(&self, tier: Tier) -> Vec<Effect> {
        let stated = self.effects.as_ref().and_then(|effects| effects.get(usize::from(tier.number()) - 1));
        stated.cloned().unwrap_or_else(|| TierPolicy::default_effects(tier))
    }

    /// Reads the header of a file with the text of [`Compiled::to_json`]; `None` for any other text.
    pub fn read(file: impl BufRead) -> Option<Self> {
        let (mut tier, mut rules, mut catalogue) = (None, None, Catalogue::default());
        for line in file.lines().map_while(Result::ok).take(MOST_LINES) {
            match key_and_value(&line) {
                (END, _) => break,
                ("\"format\"", value) if value.parse() != Ok(FORMAT) => return None,
                ("\"tier\"", value) => tier = serde_json::from_str(value).ok()?,
                ("\"rules\"", value) => rules = Some(serde_json::from_str::<EnforcedRules>(value).ok()?),
                ("\"programs\"", value) => catalogue = serde_json::from_str(value).ok()?,
                _ => {}
            }
        }
        let EnforcedRules { rules, deny, effects } = rules?;
        Some(Self { tier, rules: Rules { catalogue, ..rules }, deny, effects: Some(effects) })
    }
}

/// Reads the context windows of models, in tokens by model name or prefix; empty if the header states none.
pub fn read_windows(file: impl BufRead) -> Vec<(String, u32)> {
    let mut lines = file.lines().map_while(Result::ok).take(MOST_LINES);
    let windows = lines.find_map(|line| match key_and_value(&line) {
        (END, _) => Some(vec![]),
        ("\"windows\"", value) => serde_json::from_str(value).ok(),
        _ => None,
    });
    windows.unwrap_or_default()
}

fn key_and_value(line: &str) -> (&str, &str) {
    let line = line.trim_ascii();
    let (key, value) = line.split_once(':').unwrap_or((line, ""));
    (key, value.strip_suffix(',').unwrap_or(value).trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    #[test]
    fn a_compiled_policy_and_its_header_are_read_back_unchanged() {
        let context = "context:\n  files: [a.md, b/**]\n  tiers: {2: [c.md]}\n  roles: {chief: {file: CHIEF.md, files: [d.md]}}\n  \
                       role_folder: roles\n  windows: {local: 32768, claude-x: 500000}\n";
        let programs = "programs:\n  restart-svc: {does: restart, to: service 1, matches: [restart-svc jellyfin]}\n  \
                        lab: {verbs: {status: reads, wipe: {effect: changes}}, matches: [lab status]}\n";
        let repositories = "repositories: {media: {servers: {lab: {env: [TOKEN]}}}}\nsettings: {apiKeyHelper: /k, env: {A: b}}\n";
        for context in ["", context, programs, repositories] {
            let text = format!("{}\n{context}", include_str!("../../../../hosts.yaml"));
            let compiled =
                Compiled { installation: load::parse(&text).unwrap(), tier: Some(Tier::Remediate) };
            let json = compiled.to_json().unwrap();
            assert_eq!(Compiled::from_json(json.as_bytes()).unwrap(), compiled);
            assert_eq!(read_windows(json.as_bytes()), compiled.installation.context.windows);
            assert_eq!(PolicyHeader::read(json.as_bytes()), Some(compiled.into()));
        }
    }

    #[test]
    fn a_header_of_another_format_or_without_rules_is_not_read() {
        let json = Compiled::default().to_json().unwrap();
        assert!(PolicyHeader::read(json.as_bytes()).is_some());
        for other in
            [json.replace("\"format\": 2", "\"format\": 1"), json.replace("rules", "rows"), String::new()]
        {
            assert_eq!(PolicyHeader::read(other.as_bytes()), None, "{other}");
        }
    }
}
