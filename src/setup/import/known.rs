//! What files, folders, containers and units are called: `known.yaml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::ImportError;

/// Names by which files are found, and what is no service of an operator.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Compose files in the order in which compose looks for them.
    pub compose: Vec<String>,
    /// Compose files that are merged over them.
    pub overrides: Vec<String>,
    /// Globs of compose files beside them.
    pub compose_like: Vec<String>,
    /// Globs of the files of a swarm.
    pub stacks: Vec<String>,
    /// Globs of compose files that state what runs in production.
    pub production: Vec<String>,
    /// Globs of compose files that are left out.
    pub development: Vec<String>,
    /// Globs of files that are no compose file.
    pub never_compose: Vec<String>,
    /// The keys of compose files.
    pub compose_keys: Vec<String>,
    /// The keys of compose services.
    pub service_keys: Vec<String>,
    /// Names under which Home Assistant runs.
    pub home_assistant: Vec<String>,
    /// Names of files without a dot.
    pub files: Vec<String>,
    /// Names of folders that are mounted under their own name.
    pub folders: Vec<String>,
    /// Stems of files, or names of folders, that are inventories of Ansible.
    pub inventories: Vec<String>,
    /// Folders that contain no such files, or none that are in use.
    pub skipped: Vec<String>,
    /// Hidden folders that may contain such files.
    pub hidden: Vec<String>,
    /// Stems of inventories, and names of their folders, that are not the one in use.
    pub other_inventories: Vec<String>,
    /// Compose services that say nothing without their project.
    pub general: Vec<String>,
    /// Folders of a host that contain no data of a service, with everything below them.
    pub system: Vec<String>,
    /// Globs of units that distributions bring along.
    pub distribution: Vec<String>,
    /// Globs of units that run without a process.
    pub without_process: Vec<String>,
    /// Folders with container engines that are often not in the `PATH` of commands over ssh.
    pub program_folders: Vec<String>,
    /// Units of a cluster, each with the command that starts kubectl on its host.
    pub clusters: BTreeMap<String, String>,
    /// Globs of namespaces of a cluster's own workloads.
    pub cluster: Vec<String>,
}

impl Known {
    /// Reads the lists that are built in.
    pub fn built_in() -> Result<Self, ImportError> {
        serde_saphyr::from_str(include_str!("known.yaml"))
            .map_err(|error| ImportError::BuiltIn(error.to_string()))
    }
}
