//! The shape of `hosts.yaml`. These types mirror the file and stop at `check`.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_saphyr::Spanned;

use super::wire_checks::{DnsWire, VerifyWire};
use super::wire_rules::{NeverWire, PathRuleWire, ToolRuleWire};
use super::words::{EngineWire, KindWire, OnFailureWire, UnresolvedWire};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostsFileWire {
    pub domain: Option<Spanned<String>>,
    #[serde(default)]
    pub hosts: Option<Entries<HostWire>>,
    #[serde(default)]
    pub services: Option<Entries<Option<ServiceWire>>>,
    #[serde(default)]
    pub policy: Option<PolicyWire>,
}

/// One host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostWire {
    pub address: Spanned<String>,
    pub ssh: Option<Spanned<String>>,
}

/// One service; every key has a default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceWire {
    pub host: Option<Spanned<String>>,
    pub containers: Vec<Spanned<String>>,
    pub projects: Vec<Spanned<String>>,
    pub units: Vec<Spanned<String>>,
    pub workloads: Vec<Spanned<String>>,
    pub releases: Vec<Spanned<String>>,
    pub playbooks: Vec<Spanned<String>>,
    pub health: Option<HealthWire>,
    pub dns: Option<Spanned<DnsWire>>,
    pub tcp: Vec<Spanned<String>>,
    pub engine: Option<EngineWire>,
}

/// A health endpoint that differs from `https://SERVICE.DOMAIN/health` or from status 200.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthWire {
    pub url: Option<Spanned<String>>,
    pub status: Option<Vec<Spanned<u16>>>,
    pub timeout: Option<Spanned<String>>,
    pub follow: Option<bool>,
    pub insecure: Option<bool>,
}

/// The limits.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyWire {
    pub restart: Option<BudgetWire>,
    pub redeployment: Option<BudgetWire>,
    pub unresolved: Option<UnresolvedWire>,
    pub on_failure: Option<OnFailureWire>,
    pub tiers: Option<Entries<TierWire>>,
    pub verify: Option<VerifyWire>,
    pub never: Option<Vec<NeverWire>>,
    pub data: Option<Vec<Spanned<String>>>,
    pub protect: Option<Vec<Spanned<PathRuleWire>>>,
    pub secret: Option<Vec<Spanned<PathRuleWire>>>,
    pub tools: Option<Entries<ToolRuleWire>>,
}

/// So many actions per window; what is left out keeps its default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetWire {
    pub limit: Option<u32>,
    pub window: Option<Spanned<String>>,
}

/// What a tier may do; what is left out keeps its default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierWire {
    pub model: Option<Spanned<String>>,
    pub tools: Option<Vec<Spanned<String>>>,
    pub allow: Option<Vec<KindWire>>,
    #[serde(default)]
    pub deny: Vec<Spanned<String>>,
    pub deadline: Option<Spanned<String>>,
    pub prompt: Option<Spanned<String>>,
}

/// A map whose keys are names: their order and their places in the file are kept.
#[derive(Debug)]
pub struct Entries<T>(pub Vec<(Spanned<String>, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}
