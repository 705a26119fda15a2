//! The context files of a session, and the usage of its model's context window.
//!
//! `find` expands globs, `load` reads files, `role` parses role files, `repositories` lists what the mounted repositories
//! contain, `text` fits all of it into the available size.
//! `usage` reads the client's transcript of a session.

mod find;
mod load;
pub mod repositories;
mod role;
pub mod text;
pub mod usage;

use serde::{Deserialize, Serialize};

use crate::machine::link::lookup::Lookup;
use crate::machine::request::Request;
use crate::machine::runner::RunnerEnvironment;
use load::{Loader, Trust};
use opsctl_inventory::compiled::Compiled;
use opsctl_policy::model::installation::context::{ContextPolicy, is_role};
use opsctl_policy::model::rights::policy::Tier;
use opsctl_redact::shortened;
use text::{Reading, Skipped};

/// The session whose files are gathered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reader<'a> {
    /// The tier of the session.
    pub tier: Option<Tier>,
    /// The role of the session (`CLAUDE_SESSION_ROLE`).
    pub role: Option<&'a str>,
}

/// The files that the context of a session includes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionFiles {
    /// The context files.
    pub reading: Reading,
    /// The mounted repositories.
    pub repositories: Reading,
}

/// The files of a session, read on the agent's machine.
pub fn files_of(reader: Reader<'_>, compiled: &Compiled, request: &Request) -> SessionFiles {
    let lookup =
        || Lookup::SessionFiles { tier: reader.tier.map(Tier::number), role: reader.role.map(str::to_owned) };
    let here = || {
        let repos = RunnerEnvironment::of_process().repos_dir;
        let repositories = repositories::gather(&repos, compiled, request);
        Some(SessionFiles { reading: gather(reader, compiled, request), repositories })
    };
    request.agent.find(lookup, here).unwrap_or_default()
}

/// Gathers the context files of a session, in this order: those of all sessions, of its tier, its role file with the files
/// that it declares, and those of its role. Files that cannot be included are listed with the reason.
fn gather(reader: Reader<'_>, compiled: &Compiled, request: &Request) -> Reading {
    let policy = &compiled.installation.context;
    let listed = policy.of_tier(reader.tier);
    if listed.is_empty() && reader.role.is_none() {
        return Reading::default();
    }
    let mut loader = Loader::new(compiled, request);
    for entry in listed {
        loader.add(entry, Trust::Operator);
    }
    match reader.role {
        None => {}
        Some(role) if is_role(role) => of_role(role, policy, &mut loader),
        Some(role) => loader.reading.skipped.push(Skipped {
            what: format!("the role `{}`", shortened(role, 64)),
            why: "CLAUDE_SESSION_ROLE is a name of letters, digits, `.`, `_` and `-`".to_owned(),
        }),
    }
    loader.reading
}

fn of_role(name: &str, policy: &ContextPolicy, loader: &mut Loader<'_>) {
    let declared = loader.add_role_file(&policy.role_file(name));
    for entry in declared {
        loader.add(&entry, Trust::RoleFile);
    }
    for entry in policy.role(name).map(|role| role.files.as_slice()).unwrap_or_default() {
        loader.add(entry, Trust::Operator);
    }
}
