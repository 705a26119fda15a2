//! The compiled policy as a whole.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::enforced::EnforcedRules;
use super::error::CompiledError;
use crate::Installation;
use opsctl_policy::model::rights::policy::Tier;

/// The version of the format; a hook refuses any other.
pub const FORMAT: u32 = 2;

/// What `opsctl render` compiles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compiled {
    /// What `hosts.yaml` states.
    pub installation: Installation,
    /// The tier that the files are rendered for, if any.
    pub tier: Option<Tier>,
}

/// The text of a compiled policy. Hooks read each line of the header without the rest.
#[derive(Serialize, Deserialize)]
struct CompiledText {
    format: u32,
    tier: Option<Tier>,
    rules: Box<RawValue>,
    // Most policies have neither, and every hook reads each line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    windows: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    programs: Option<Box<RawValue>>,
    // The header ends here.
    installation: Installation,
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

impl Compiled {
    /// The JSON text, byte-identical for equal installations.
    pub fn to_json(&self) -> Result<String, CompiledError> {
        let Self { installation, tier } = self;
        let mut text = serde_json::to_string_pretty(&CompiledText {
            format: FORMAT,
            tier: *tier,
            rules: to_raw_value(&EnforcedRules::of(&installation.policy))?,
            windows: unless_default(&installation.context.windows)?,
            programs: unless_default(&installation.policy.rules.catalogue)?,
            installation: installation.clone(),
        })?;
        text.push('\n');
        Ok(text)
    }

    /// Reads the text of [`Compiled::to_json`].
    pub fn from_json(text: &[u8]) -> Result<Self, CompiledError> {
        let FormatOnly { format: found } = serde_json::from_slice(text)?;
        if found != FORMAT {
            return Err(CompiledError::Format { found, expected: FORMAT });
        }
        let CompiledText { format: _, tier, rules, windows, programs, mut installation } =
            serde_json::from_slice(text)?;
        installation.context.windows = or_default(windows)?;
        let EnforcedRules { rules, .. } = serde_json::from_str(rules.get())?;
        installation.policy.rules = rules;
        installation.policy.rules.catalogue = or_default(programs)?;
        Ok(Self { installation, tier })
    }
}

fn unless_default<T: Default + PartialEq + Serialize>(
    value: &T,
) -> serde_json::Result<Option<Box<RawValue>>> {
    if *value == T::default() { Ok(None) } else { to_raw_value(value).map(Some) }
}

fn or_default<T: Default + DeserializeOwned>(text: Option<Box<RawValue>>) -> serde_json::Result<T> {
    text.map_or_else(|| Ok(T::default()), |text| serde_json::from_str(text.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_the_format_of_another_release() {
        for other in [Compiled::default().to_json().unwrap().replace('2', "1"), "{\"format\": 1}".to_owned()]
        {
            assert!(matches!(
                Compiled::from_json(other.as_bytes()),
                Err(CompiledError::Format { found: 1, expected: FORMAT })
            ));
        }
    }
}
