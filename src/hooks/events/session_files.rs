//! The context files and the repositories of a session, which are on the agent's machine.

use serde::{Deserialize, Serialize};

use crate::hooks::context;
use crate::hooks::context::text::Reading;
use crate::hooks::context::{Reader, repositories};
use crate::machine::link::lookup::Lookup;
use crate::machine::request::Request;
use crate::machine::runner::RunnerEnvironment;
use opsctl_inventory::compiled::Compiled;
use opsctl_policy::model::rights::policy::Tier;

/// The files that the context of a session includes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionFiles {
    /// The context files.
    pub reading: Reading,
    /// The mounted repositories.
    pub repositories: Reading,
}

/// The files of a session, read on the agent's machine.
pub fn of(reader: Reader<'_>, compiled: &Compiled, request: &Request) -> SessionFiles {
    let lookup =
        || Lookup::SessionFiles { tier: reader.tier.map(Tier::number), role: reader.role.map(str::to_owned) };
    let here = || {
        let repos = RunnerEnvironment::of_process().repos_dir;
        let repositories = repositories::gather(&repos, compiled, request);
        Some(SessionFiles { reading: context::gather(reader, compiled, request), repositories })
    };
    request.agent.find(lookup, here).unwrap_or_default()
}
