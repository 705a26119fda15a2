//! A ledger, and how a process uses it.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::engine::{Patience, Place};
use super::pool::Pool;
use opsctl_machine::plain_file::{self, Content};

/// A ledger, the agent that uses it, and what its connections share.
#[derive(Debug, Clone)]
pub struct Location {
    /// Where it is.
    pub place: Place,
    /// The name of the agent in all rows that this process adds; without it, the name that the state folder keeps, and without that
    /// the name of this machine.
    agent: Option<String>,
    /// The state folder, in which processes take turns to connect to a server.
    pub state_dir: Option<PathBuf>,
    /// How long the request that uses it waits for a server.
    pub patience: Patience,
    /// Where connections stay open; `None`: they are closed after use.
    pub pool: Option<Pool>,
    /// The name of the agent, once it is needed.
    name: OnceLock<String>,
}

impl Location {
    /// The ledger at a place. Connections to a server stay open until this and its clones are dropped.
    pub fn new(place: Place, agent: Option<String>, state_dir: Option<PathBuf>) -> Self {
        let pool = matches!(place, Place::Server(_)).then(Pool::default);
        Self { place, agent, state_dir, patience: Patience::default(), pool, name: OnceLock::new() }
    }

    /// This ledger for a hook, all of whose waiting for a server has one limit.
    #[must_use]
    pub fn limited(&self) -> Self {
        Self { patience: Patience::limited(), ..self.clone() }
    }

    /// This ledger as another agent uses it.
    #[must_use]
    pub fn of_agent(self, agent: String) -> Self {
        Self { agent: Some(agent), name: OnceLock::new(), ..self }
    }

    /// The file.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Server(_) => None,
        }
    }

    /// Whether a file is missing. A server may be asked.
    pub fn is_missing(&self) -> bool {
        self.file().is_some_and(|path| !path.exists())
    }

    /// Whether it is a file that belongs to this user, or will.
    pub fn is_owned(&self) -> bool {
        let owner = |path: &Path| path.metadata().ok().map(|entry| entry.uid());
        let owner = |path| owner(path).or_else(|| owner(path.parent()?));
        let user = rustix::process::geteuid().as_raw();
        self.file().is_some_and(|path| owner(path).is_none_or(|owner| owner == user))
    }

    /// The files with secrets of a server: the password, and the key of a client certificate.
    pub fn secret_files(&self) -> Vec<PathBuf> {
        match &self.place {
            Place::File(_) => vec![],
            Place::Server(address) => address.secret_files(),
        }
    }

    /// The name of the agent.
    pub fn agent_name(&self) -> String {
        let kept = || name_in(&self.name_file()?);
        self.name.get_or_init(|| self.agent.clone().or_else(kept).unwrap_or_else(machine_name)).clone()
    }

    /// Keeps the name of the agent in the state folder, unless a variable states it or one is kept: a container that is created
    /// again has another host name, and is the same agent.
    pub fn keep_agent_name(&self) -> io::Result<()> {
        match self.name_file().filter(|file| self.agent.is_none() && !file.exists()) {
            Some(file) => fs::write(file, self.agent_name() + "\n"),
            None => Ok(()),
        }
    }

    fn name_file(&self) -> Option<PathBuf> {
        Some(self.state_dir.as_ref()?.join("agent-name"))
    }
}

/// The longest file with a name that is read, in bytes.
const LONGEST_NAME: u64 = 1024;

/// The name in a file.
fn name_in(file: &Path) -> Option<String> {
    let Ok(Content::Bytes(name)) = plain_file::read(file, LONGEST_NAME) else { return None };
    let name = String::from_utf8(name).ok()?;
    let name = name.trim();
    (!name.is_empty() && !name.contains(char::is_control)).then(|| name.to_owned())
}

fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Locations differ in what they name, and not in what their connections share.
impl PartialEq for Location {
    fn eq(&self, other: &Self) -> bool {
        (&self.place, &self.agent, &self.state_dir) == (&other.place, &other.agent, &other.state_dir)
    }
}

impl Eq for Location {}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self::new(Place::File(path.to_owned()), None, None)
    }
}

impl From<&PathBuf> for Location {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<&Self> for Location {
    fn from(location: &Self) -> Self {
        location.clone()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)
    }
}
