//! The rules as they stand on one line of the compiled policy.

use serde::{Deserialize, Serialize};

use super::compiled::CompiledError;
use super::words::{ToolActionWire, ToolVerbWire, WhereWire};
use crate::model::policy::{Policy, Tier};
use crate::model::rules::{NeverRule, PathRule, Rules, ToolRule};

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub struct RulesWire {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    never: Vec<NeverRuleWire>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    off: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    data: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    protect: Vec<PathRuleWire>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secret: Vec<PathRuleWire>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolWire>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    webhooks: Vec<String>,
    /// What tiers 1, 2 and 3 never run.
    #[serde(skip_serializing_if = "nothing")]
    deny: [Vec<String>; 3],
}

fn nothing(deny: &[Vec<String>; 3]) -> bool {
    deny.iter().all(Vec::is_empty)
}

#[derive(Serialize, Deserialize)]
struct ToolWire {
    tool: String,
    action: ToolActionWire,
    verb: Option<ToolVerbWire>,
    service: Option<String>,
    host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct PathRuleWire {
    path: String,
    #[serde(rename = "where")]
    place: WhereWire,
}

#[derive(Serialize, Deserialize)]
struct NeverRuleWire {
    name: String,
    argv: Vec<String>,
    reason: String,
    #[serde(rename = "where")]
    place: WhereWire,
    tiers: Vec<u8>,
}

impl From<&Policy> for RulesWire {
    fn from(policy: &Policy) -> Self {
        let rules = &policy.rules;
        let never = |rule: &NeverRule| NeverRuleWire {
            name: rule.name.clone(),
            argv: rule.patterns.clone(),
            reason: rule.reason.clone(),
            place: rule.place.into(),
            tiers: rule.tiers.iter().map(|tier| tier.number()).collect(),
        };
        let path = |rule: &PathRule| PathRuleWire { path: rule.glob.clone(), place: rule.place.into() };
        let tool = |rule: &ToolRule| ToolWire {
            tool: rule.tool.clone(),
            action: rule.kind.into(),
            verb: ToolVerbWire::of(rule.verb),
            service: rule.service.clone(),
            host: rule.host.clone(),
            to: rule.to.clone(),
        };
        Self {
            tools: rules.tools.iter().map(tool).collect(),
            webhooks: rules.webhooks.clone(),
            protect: rules.protect.iter().map(path).collect(),
            secret: rules.secret.iter().map(path).collect(),
            never: rules.never.iter().map(never).collect(),
            off: rules.off.clone(),
            data: rules.data.clone(),
            deny: policy.tiers.clone().map(|tier| tier.deny),
        }
    }
}

impl RulesWire {
    /// What tiers 1, 2 and 3 never run.
    pub fn deny(&self) -> &[Vec<String>; 3] {
        &self.deny
    }

    /// The rules, as they were.
    pub fn into_rules(self) -> Result<Rules, CompiledError> {
        let never = |rule: NeverRuleWire| {
            let tiers = rule
                .tiers
                .into_iter()
                .map(|tier| Tier::from_number(tier).ok_or(CompiledError::Range("tiers")));
            Ok::<_, CompiledError>(NeverRule {
                name: rule.name,
                patterns: rule.argv,
                reason: rule.reason,
                place: rule.place.into(),
                tiers: tiers.collect::<Result<_, _>>()?,
            })
        };
        let path = |rule: PathRuleWire| PathRule { glob: rule.path, place: rule.place.into() };
        let tool = |rule: ToolWire| ToolRule {
            verb: rule.verb.map_or_else(|| rule.action.usual_verb(), Into::into),
            kind: rule.action.into(),
            tool: rule.tool,
            service: rule.service,
            host: rule.host,
            to: rule.to,
        };
        Ok(Rules {
            catalogue: crate::catalogue::Catalogue::default(),
            tools: self.tools.into_iter().map(tool).collect(),
            webhooks: self.webhooks,
            protect: self.protect.into_iter().map(path).collect(),
            secret: self.secret.into_iter().map(path).collect(),
            never: self.never.into_iter().map(never).collect::<Result<_, _>>()?,
            off: self.off,
            data: self.data,
        })
    }
}
