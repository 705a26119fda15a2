//! The part of the compiled policy that says what sessions are given to read.

use serde::{Deserialize, Serialize};

use crate::model::context::{ContextPolicy, Role};

/// What is listed. The windows stand in the head of the policy.
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

#[derive(Serialize, Deserialize, PartialEq)]
struct RoleWire {
    name: String,
    file: Option<String>,
    files: Vec<String>,
}

impl ContextWire {
    /// Whether nothing is listed.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What was compiled, with the windows of the head.
    pub fn into_policy(self, windows: Vec<(String, u32)>) -> ContextPolicy {
        let role = |RoleWire { name, file, files }: RoleWire| Role { name, file, files };
        ContextPolicy {
            files: self.files,
            tiers: self.tiers,
            roles: self.roles.into_iter().map(role).collect(),
            role_folder: self.role_folder,
            windows,
        }
    }
}

impl From<&ContextPolicy> for ContextWire {
    fn from(policy: &ContextPolicy) -> Self {
        let role = |Role { name, file, files }: Role| RoleWire { name, file, files };
        Self {
            files: policy.files.clone(),
            tiers: policy.tiers.clone(),
            roles: policy.roles.iter().cloned().map(role).collect(),
            role_folder: policy.role_folder.clone(),
        }
    }
}
