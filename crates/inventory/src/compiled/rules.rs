//! The rules in the compiled policy, on one line of its header.

use serde::{Deserialize, Serialize};

use super::error::{CompiledError, tier};
use super::mirrors::each;
use crate::catalogue::Catalogue;
use crate::inventory::choices::{EffectWire, ToolActionWire, ToolVerbWire, WhereWire};
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
    tools: Vec<ToolRuleWire>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    webhooks: Vec<String>,
    /// Command prefixes that are denied at tiers 1, 2 and 3, in this order.
    #[serde(skip_serializing_if = "is_empty")]
    pub deny: [Vec<String>; 3],
    /// What commands of tiers 1, 2 and 3 may do, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<[Vec<EffectWire>; 3]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_effects: Vec<(String, EffectWire)>,
}

fn is_empty(deny: &[Vec<String>; 3]) -> bool {
    deny.iter().all(Vec::is_empty)
}

impl From<&Policy> for RulesWire {
    fn from(policy: &Policy) -> Self {
        let Rules { catalogue: _, never, off, data, protect, secret, tools, tool_effects, webhooks } =
            policy.rules.clone();
        Self {
            never: each(never),
            off,
            data,
            protect: each(protect),
            secret: each(secret),
            tools: each(tools),
            webhooks,
            deny: policy.tiers.clone().map(|tier| tier.deny),
            effects: Some(
                policy
                    .tiers
                    .clone()
                    .map(|tier| tier.effects.into_iter().filter_map(EffectWire::of).collect()),
            ),
            tool_effects: tool_effects
                .into_iter()
                .filter_map(|(tool, effect)| Some((tool, EffectWire::of(effect)?)))
                .collect(),
        }
    }
}

impl RulesWire {
    pub fn into_rules(self) -> Result<Rules, CompiledError> {
        let Self { never, off, data, protect, secret, tools, webhooks, tool_effects, deny: _, effects: _ } =
            self;
        Ok(Rules {
            catalogue: Catalogue::default(),
            never: never.into_iter().map(NeverRuleWire::into_rule).collect::<Result<_, _>>()?,
            off,
            data,
            protect: each(protect),
            secret: each(secret),
            tools: each(tools),
            webhooks,
            tool_effects: tool_effects.into_iter().map(|(tool, effect)| (tool, effect.into())).collect(),
        })
    }
}

#[derive(Serialize, Deserialize)]
struct NeverRuleWire {
    name: String,
    argv: Vec<String>,
    reason: String,
    #[serde(rename = "where")]
    scope: WhereWire,
    tiers: Vec<u8>,
}

impl From<NeverRule> for NeverRuleWire {
    fn from(NeverRule { name, patterns, reason, scope, tiers }: NeverRule) -> Self {
        let tiers = tiers.into_iter().map(Tier::number).collect();
        Self { name, argv: patterns, reason, scope: scope.into(), tiers }
    }
}

impl NeverRuleWire {
    fn into_rule(self) -> Result<NeverRule, CompiledError> {
        let Self { name, argv, reason, scope, tiers } = self;
        let tiers = tiers.into_iter().map(|number| tier(number, "tiers")).collect::<Result<_, _>>()?;
        Ok(NeverRule { name, patterns: argv, reason, scope: scope.into(), tiers })
    }
}

#[derive(Serialize, Deserialize)]
struct PathRuleWire {
    path: String,
    #[serde(rename = "where")]
    scope: WhereWire,
}

impl From<PathRule> for PathRuleWire {
    fn from(PathRule { glob, scope }: PathRule) -> Self {
        Self { path: glob, scope: scope.into() }
    }
}

impl From<PathRuleWire> for PathRule {
    fn from(PathRuleWire { path, scope }: PathRuleWire) -> Self {
        Self { glob: path, scope: scope.into() }
    }
}

#[derive(Serialize, Deserialize)]
struct ToolRuleWire {
    tool: String,
    action: ToolActionWire,
    verb: Option<ToolVerbWire>,
    service: Option<String>,
    host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

impl From<ToolRule> for ToolRuleWire {
    fn from(ToolRule { tool, kind, verb, service, host, to }: ToolRule) -> Self {
        Self { tool, action: kind.into(), verb: ToolVerbWire::of(verb), service, host, to }
    }
}

impl From<ToolRuleWire> for ToolRule {
    fn from(ToolRuleWire { tool, action, verb, service, host, to }: ToolRuleWire) -> Self {
        let verb = verb.map_or_else(|| action.default_verb(), Into::into);
        Self { tool, kind: action.into(), verb, service, host, to }
    }
}
