//! The context files and the repositories of a session, which are on the agent's machine.

use serde::{Deserialize, Serialize};

use crate::context::text::Reading;
use crate::context::{self, Reader, repositories};
use crate::inventory::compiled::Compiled;
use crate::link::lookup::Lookup;
use crate::model::policy::Tier;
use crate::runtime::agent_side;
use crate::runtime::environment::Environment;
use crate::runtime::runner::RunnerEnvironment;

/// The files that the context of a session includes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionFiles {
    /// The context files.
    pub reading: Reading,
    /// The mounted repositories.
    pub repositories: Reading,
}

/// The files of a session, read on the agent's machine.
pub fn of(reader: Reader<'_>, compiled: &Compiled, environment: &Environment) -> SessionFiles {
    if agent_side::is_remote() {
        let (tier, role) = (reader.tier.map(Tier::number), reader.role.map(str::to_owned));
        return agent_side::ask(Lookup::SessionFiles { tier, role }).unwrap_or_default();
    }
    let repos = RunnerEnvironment::of_process().repos_dir;
    SessionFiles {
        reading: context::gather(reader, compiled, environment),
        repositories: repositories::gather(&repos, compiled, environment),
    }
}
