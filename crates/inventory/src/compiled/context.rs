//! The files of sessions in the compiled policy.

use serde::{Deserialize, Serialize};

use super::mirrors::{each, mirrors};
use crate::model::context::{ContextPolicy, Role};

mirrors! {
    RoleWire <=> Role { name: String, file: Option<String>, files: Vec<String> }
}

/// The context without the windows of models, which are in the header.
#[derive(Serialize, Deserialize, Default, PartialEq)]
#[serde(default)]
pub struct ContextWire {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    tiers: [Vec<String>; 3],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    roles: Vec<RoleWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role_folder: Option<String>,
}

impl ContextWire {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub fn into_policy(self, windows: Vec<(String, u32)>) -> ContextPolicy {
        let Self { files, tiers, roles, role_folder } = self;
        ContextPolicy { files, tiers, roles: each(roles), role_folder, windows }
    }
}

impl From<ContextPolicy> for ContextWire {
    fn from(ContextPolicy { files, tiers, roles, role_folder, windows: _ }: ContextPolicy) -> Self {
        Self { files, tiers, roles: each(roles), role_folder }
    }
}
