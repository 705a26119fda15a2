//! Where the files of this installation are, and which files on this machine hold secrets.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::guard::approval::rotation;
use crate::machine::agent_side::AgentSide;
use crate::machine::environment::Environment;
use crate::machine::installation;
use crate::machine::installation::header_in_force;
use crate::machine::local::Machine;
use crate::machine::request::Request;
use opsctl_policy::files::guarded::{Guarded, Locations, decisive, secret};
use opsctl_policy::paths::word_paths::normal;

/// The secret files of the policy in force. A process reads scripts of one machine only: the guard asks the caller for those of
/// the agent.
static SECRET: LazyLock<Vec<Guarded>> = LazyLock::new(|| {
    let request = Request::of_process();
    let rules = header_in_force(&request).rules;
    secret(&locations(&request), &rules.secret, &Machine::of(&AgentSide::HERE))
});

/// Whether a file on this machine holds secrets, according to the policy in force. `path` is absolute.
pub fn is_secret(path: &str) -> bool {
    decisive(&SECRET, path, false).is_some()
}

/// The keys and tokens with which persons answer.
pub fn answering_keys(environment: &Environment) -> Vec<PathBuf> {
    let token = std::env::var_os("CLAUDEOPS_DESK_TOKEN_FILE").filter(|path| !path.is_empty());
    rotation::files(&environment.state_dir, environment.approval_key_file(), token.map(PathBuf::from))
}

/// The inventory in force, and the places of the one from which the project was rendered.
fn inventories(request: &Request) -> Vec<PathBuf> {
    let places = ["hosts.yaml", "../hosts.yaml"].map(|place| request.project_dir.join(place));
    installation::hosts_file(request).into_iter().chain(places).collect()
}

/// The files of this installation.
pub fn locations(request: &Request) -> Locations {
    let here = std::env::current_dir().unwrap_or_default();
    let absolute = |path: &Path| normal(&here.join(path).to_string_lossy());
    // The guard's own folder is not on the agent's machine, which is asked about these paths.
    let ledger = match request.ledger.file() {
        Some(file) if request.served.is_none() => file.to_owned(),
        _ => request.session_state_dir().join("claudeops.db"),
    };
    Locations {
        project: absolute(&request.project_dir),
        home: request.agent.variable("HOME").filter(|home| home.starts_with('/')),
        ledger: absolute(&ledger),
        state: absolute(request.session_state_dir()),
        hosts: inventories(request).iter().map(|path| absolute(path)).collect(),
        approval_key: request.approval_key.as_deref().map(&absolute),
        database_keys: request.ledger.secret_files().iter().map(|path| absolute(path)).collect(),
        opsctl: std::env::current_exe().ok().map(|path| absolute(&path)),
    }
}
