//! The header of a compiled policy: the first lines, which hooks read without the rest.

use std::io::BufRead;

use super::enforced::EnforcedRules;
use super::file::{Compiled, FORMAT};
use opsctl_policy::model::rights::header::PolicyHeader;
use opsctl_policy::model::rights::rules::Rules;
use opsctl_reader::catalogue::Catalogue;

/// The most lines that a header has.
const MOST_LINES: usize = 8;

/// The key of the first line after the header.
const END: &str = "\"installation\"";

impl From<Compiled> for PolicyHeader {
    fn from(compiled: Compiled) -> Self {
        let EnforcedRules { rules, deny, effects, redact_output } =
            EnforcedRules::of(&compiled.installation.policy);
        Self { tier: compiled.tier, rules, deny, effects: Some(effects), redact_output }
    }
}

/// Reads the header of a file with the text of [`Compiled::to_json`]; `None` for any other text.
pub fn read_header(mut file: impl BufRead) -> Option<PolicyHeader> {
    let (mut tier, mut rules, mut catalogue) = (None, None, Catalogue::default());
    // Hooks read it before every command: one buffer for all lines.
    let mut line = String::with_capacity(4096);
    for _ in 0..MOST_LINES {
        line.clear();
        if !matches!(file.read_line(&mut line), Ok(1..)) {
            break;
        }
        match key_and_value(&line) {
            (END, _) => break,
            ("\"format\"", value) if value.parse() != Ok(FORMAT) => return None,
            ("\"tier\"", value) => tier = serde_json::from_str(value).ok()?,
            ("\"rules\"", value) => rules = Some(serde_json::from_str::<EnforcedRules>(value).ok()?),
            ("\"programs\"", value) => catalogue = serde_json::from_str(value).ok()?,
            _ => {}
        }
    }
    let EnforcedRules { rules, deny, effects, redact_output } = rules?;
    let rules = Rules { catalogue, ..rules };
    Some(PolicyHeader { tier, rules, deny, effects: Some(effects), redact_output })
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
    use opsctl_policy::model::rights::policy::Tier;

    #[test]
    fn a_compiled_policy_and_its_header_are_read_back_unchanged() {
        let context = "context:\n  files: [a.md, b/**]\n  tiers: {2: [c.md]}\n  roles: {chief: {file: CHIEF.md, files: [d.md]}}\n  \
                       role_folder: roles\n  windows: {local: 32768, claude-x: 500000}\n";
        let programs = "programs:\n  restart-svc: {does: restart, to: service 1, matches: [restart-svc jellyfin]}\n  \
                        lab: {verbs: {status: reads, wipe: {effect: plain}}, matches: [lab status]}\n";
        let repositories = "repositories: {media: {servers: {lab: {env: [TOKEN]}}}}\nsettings: {apiKeyHelper: /k, env: {A: b}}\n";
        for context in ["", context, programs, repositories] {
            let text = format!("{}\n{context}", include_str!("../../../../hosts.yaml"));
            let compiled =
                Compiled { installation: load::parse(&text).unwrap(), tier: Some(Tier::Remediate) };
            let json = compiled.to_json().unwrap();
            assert_eq!(Compiled::from_json(json.as_bytes()).unwrap(), compiled);
            assert_eq!(read_windows(json.as_bytes()), compiled.installation.context.windows);
            assert_eq!(read_header(json.as_bytes()), Some(compiled.into()));
        }
    }

    #[test]
    fn a_header_of_another_format_or_without_rules_is_not_read() {
        let json = Compiled::default().to_json().unwrap();
        assert!(read_header(json.as_bytes()).is_some());
        for other in
            [json.replace("\"format\": 2", "\"format\": 1"), json.replace("rules", "rows"), String::new()]
        {
            assert_eq!(read_header(other.as_bytes()), None, "{other}");
        }
    }
}
