//! Budgets, tiers, contacts and modes in the compiled policy. The rules are in the header.

use std::path::PathBuf;

use chrono::{NaiveTime, Timelike as _};
use serde::{Deserialize, Serialize};

use super::checks::VerifyWire;
use super::contacts::{ContactWire, ModesWire};
use super::error::{CompiledError, window};
use super::mirrors::each;
use super::spend::SpendWire;
use crate::inventory::choices::{
    EffectWire, HostsWire, KindWire, OnFailureWire, PerWire, ResolveWire, UnlistedWire, UnresolvedWire,
};
use crate::model::ask::{Ask, Topic};
use crate::model::policy::{Budget, Per, Policy, Resolve, TierPolicy, Unlisted};
use crate::model::public_key::PublicKey;
use crate::model::rules::Rules;
use crate::model::tier::Tier;

#[derive(Serialize, Deserialize)]
pub struct PolicyWire {
    restart: BudgetWire,
    redeployment: BudgetWire,
    unresolved: UnresolvedWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unlisted: Option<UnlistedWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resolve: Option<Vec<ResolveWire>>,
    hosts: HostsWire,
    on_failure: OnFailureWire,
    verify: VerifyWire,
    tiers: [TierWire; 3],
    #[serde(default)]
    modes: ModesWire,
    #[serde(default)]
    contacts: Vec<ContactWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ask: Vec<AskWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval_key: Option<String>,
    #[serde(default, skip_serializing_if = "SpendWire::is_default")]
    spend: SpendWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exclusive_seconds: Option<i64>,
}

impl From<Policy> for PolicyWire {
    fn from(policy: Policy) -> Self {
        Self {
            restart: policy.restart.into(),
            redeployment: policy.redeployment.into(),
            unresolved: policy.unresolved.into(),
            unlisted: Some(policy.unlisted.into()),
            resolve: Some(ResolveWire::list(policy.resolve)),
            hosts: policy.hosts.into(),
            on_failure: policy.on_failure.into(),
            verify: policy.verify.into(),
            tiers: policy.tiers.map(Into::into),
            modes: policy.modes.into(),
            contacts: each(policy.contacts),
            digest_seconds: policy.digest.map(|at| at.num_seconds_from_midnight()),
            ask: each(policy.ask),
            approval_key: policy.approval_key.map(|key| key.to_string()),
            spend: policy.spend.into(),
            exclusive_seconds: policy.exclusive.map(|time| time.delta().num_seconds()),
        }
    }
}

impl PolicyWire {
    pub fn into_policy(self, rules: Rules) -> Result<Policy, CompiledError> {
        let [one, two, three] = self.tiers;
        Ok(Policy {
            restart: self.restart.into_budget()?,
            redeployment: self.redeployment.into_budget()?,
            unresolved: self.unresolved.into(),
            unlisted: self.unlisted.map_or(Unlisted::Own, Into::into),
            resolve: self.resolve.map_or_else(Resolve::default, |places| ResolveWire::of_list(&places)),
            hosts: self.hosts.into(),
            on_failure: self.on_failure.into(),
            tiers: [
                one.into_tier(Tier::Observe)?,
                two.into_tier(Tier::Remediate)?,
                three.into_tier(Tier::Full)?,
            ],
            verify: self.verify.into_verification()?,
            rules,
            modes: self.modes.into(),
            contacts: each(self.contacts),
            digest: self.digest_seconds.map(time_of_day).transpose()?,
            ask: self.ask.into_iter().map(AskWire::into_ask).collect::<Result<_, _>>()?,
            approval_key: self.approval_key.as_deref().map(public_key).transpose()?,
            spend: self.spend.into(),
            exclusive: self
                .exclusive_seconds
                .map(|seconds| window(seconds, "exclusive_seconds"))
                .transpose()?,
        })
    }
}

fn time_of_day(seconds: u32) -> Result<NaiveTime, CompiledError> {
    NaiveTime::from_num_seconds_from_midnight_opt(seconds, 0).ok_or(CompiledError::Range("digest_seconds"))
}

#[derive(Serialize, Deserialize)]
struct BudgetWire {
    limit: u32,
    window_seconds: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    per: Option<PerWire>,
}

impl From<Budget> for BudgetWire {
    fn from(Budget { limit, window, per }: Budget) -> Self {
        let per = Some(per).filter(|per| *per != Per::default()).map(Into::into);
        Self { limit, window_seconds: window.delta().num_seconds(), per }
    }
}

impl BudgetWire {
    fn into_budget(self) -> Result<Budget, CompiledError> {
        let per = self.per.map_or_else(Per::default, Into::into);
        Ok(Budget { limit: self.limit, window: window(self.window_seconds, "window_seconds")?, per })
    }
}

fn public_key(text: &str) -> Result<PublicKey, CompiledError> {
    PublicKey::parse(text).ok_or(CompiledError::Range("approval_key"))
}

#[derive(Serialize, Deserialize)]
struct AskWire {
    about: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    contact: Vec<String>,
    timeout_seconds: i64,
    limit: u32,
    total: u32,
    window_seconds: i64,
}

impl From<Ask> for AskWire {
    fn from(Ask { topic, contact, timeout, limit, total, window }: Ask) -> Self {
        Self {
            about: topic.as_str().to_owned(),
            contact,
            timeout_seconds: timeout.delta().num_seconds(),
            limit,
            total,
            window_seconds: window.delta().num_seconds(),
        }
    }
}

impl AskWire {
    fn into_ask(self) -> Result<Ask, CompiledError> {
        Ok(Ask {
            topic: Topic::named(&self.about),
            contact: self.contact,
            timeout: window(self.timeout_seconds, "timeout_seconds")?,
            limit: self.limit,
            total: self.total,
            window: window(self.window_seconds, "window_seconds")?,
        })
    }
}

#[derive(Serialize, Deserialize)]
struct TierWire {
    model: String,
    tools: Vec<String>,
    allow: Vec<KindWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effects: Option<Vec<EffectWire>>,
    deny: Vec<String>,
    deadline_seconds: i64,
    prompt: Option<PathBuf>,
    #[serde(default)]
    structured_result: bool,
}

impl From<TierPolicy> for TierWire {
    fn from(policy: TierPolicy) -> Self {
        let TierPolicy { model, tools, allow, effects, deny, deadline, prompt, structured_result } = policy;
        let allow = allow.into_iter().filter_map(KindWire::of).collect();
        let effects = effects.into_iter().filter_map(EffectWire::of).collect();
        let deadline_seconds = deadline.delta().num_seconds();
        let effects = Some(effects);
        Self { model, tools, allow, effects, deny, deadline_seconds, prompt, structured_result }
    }
}

impl TierWire {
    fn into_tier(self, tier: Tier) -> Result<TierPolicy, CompiledError> {
        let Self { model, tools, allow, effects, deny, deadline_seconds, prompt, structured_result } = self;
        let deadline = window(deadline_seconds, "deadline_seconds")?;
        let effects = effects.map_or_else(|| TierPolicy::default_effects(tier), each);
        let allow = each(allow);
        Ok(TierPolicy { model, tools, allow, effects, deny, deadline, prompt, structured_result })
    }
}
