//! The compiled policy as a whole.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::context::ContextWire;
use super::error::{self, CompiledError};
use super::inventory::{HostWire, ServiceWire};
use super::mirrors::{each, mirrors};
use super::policy::PolicyWire;
use super::rules::RulesWire;
use crate::catalogue::Catalogue;
use crate::inventory::Installation;
use crate::model::client_setting::ClientSetting;
use crate::model::hooks::OwnHook;
use crate::model::inventory::Inventory;
use crate::model::policy::Tier;
use crate::model::repository_server::RepositoryServer;

/// The version of the format; a hook refuses any other.
pub const FORMAT: u32 = 1;

/// What `opsctl render` compiles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compiled {
    /// What `hosts.yaml` states.
    pub installation: Installation,
    /// The tier that the files are rendered for, if any.
    pub tier: Option<Tier>,
}

impl Compiled {
    /// The JSON text, byte-identical for equal installations.
    pub fn to_json(&self) -> Result<String, CompiledError> {
        let mut text = serde_json::to_string_pretty(&CompiledWire::of(self.clone())?)?;
        text.push('\n');
        Ok(text)
    }

    /// Reads the text of [`Compiled::to_json`].
    pub fn from_json(text: &[u8]) -> Result<Self, CompiledError> {
        serde_json::from_slice::<CompiledWire>(text)?.into_compiled()
    }
}

mirrors! {
    OwnHookWire <=> OwnHook { event: String, group: String }
    RepositoryServerWire <=> RepositoryServer { repository: String, server: String, env: Vec<String> }
    ClientSettingWire <=> ClientSetting { key: String, value: String }
}

#[derive(Serialize, Deserialize)]
struct CompiledWire {
    // The header: hooks read each of these lines without the rest.
    format: u32,
    tier: Option<u8>,
    #[serde(default)]
    rules: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    windows: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    programs: Option<Box<RawValue>>,
    // The header ends here.
    domain: Option<String>,
    hosts: Vec<HostWire>,
    services: Vec<ServiceWire>,
    policy: PolicyWire,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<OwnHookWire>,
    #[serde(default, skip_serializing_if = "ContextWire::is_default")]
    context: ContextWire,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    repository_servers: Vec<RepositoryServerWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    settings: Vec<ClientSettingWire>,
}

impl CompiledWire {
    fn of(compiled: Compiled) -> Result<Self, CompiledError> {
        let Compiled { installation, tier } = compiled;
        let Installation { inventory, policy, hooks, context, repository_servers, settings } = installation;
        let windows = &context.windows;
        let catalogue = policy.rules.catalogue;
        Ok(Self {
            format: FORMAT,
            tier: tier.map(Tier::number),
            rules: Some(to_raw_value(&RulesWire::from(&policy))?),
            windows: if windows.is_empty() { None } else { Some(to_raw_value(windows)?) },
            programs: if catalogue == Catalogue::default() { None } else { Some(to_raw_value(&catalogue)?) },
            domain: inventory.domain,
            hosts: each(inventory.hosts),
            services: each(inventory.services),
            policy: policy.into(),
            hooks: each(hooks),
            context: context.into(),
            repository_servers: each(repository_servers),
            settings: each(settings),
        })
    }

    fn into_compiled(self) -> Result<Compiled, CompiledError> {
        if self.format != FORMAT {
            return Err(CompiledError::Format { found: self.format, expected: FORMAT });
        }
        let mut rules = parsed::<RulesWire>(self.rules)?.into_rules()?;
        rules.catalogue = parsed(self.programs)?;
        let services = self.services.into_iter().map(ServiceWire::into_service).collect::<Result<_, _>>()?;
        let installation = Installation {
            inventory: Inventory { domain: self.domain, hosts: each(self.hosts), services },
            policy: self.policy.into_policy(rules)?,
            hooks: each(self.hooks),
            context: self.context.into_policy(parsed(self.windows)?),
            repository_servers: each(self.repository_servers),
            settings: each(self.settings),
        };
        Ok(Compiled { installation, tier: tier(self.tier)? })
    }
}

/// The tier of the header.
pub fn tier(number: Option<u8>) -> Result<Option<Tier>, CompiledError> {
    number.map(|number| error::tier(number, "tier")).transpose()
}

fn parsed<T: DeserializeOwned + Default>(line: Option<Box<RawValue>>) -> Result<T, CompiledError> {
    Ok(line.map(|line| serde_json::from_str(line.get())).transpose()?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_the_format_of_another_release() {
        let json = Compiled::default().to_json().unwrap().replace("\"format\": 1", "\"format\": 2");
        assert!(matches!(
            Compiled::from_json(json.as_bytes()),
            Err(CompiledError::Format { found: 2, expected: FORMAT })
        ));
    }
}
