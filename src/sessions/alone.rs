//! The container that works with a state folder: it holds a lock there, so that a second one does not start.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::thread::sleep;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::machine::engines::host_name;
use crate::machine::environment::Environment;
use opsctl_policy::model::display::relative_time::timestamp;

/// How long a container that is about to end is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// The longest description of a holder, in bytes.
const MOST_BYTES: u64 = 4096;

/// The holder of a state folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    agent: String,
    host: Option<String>,
    since: DateTime<Utc>,
}

/// Why a state folder is not held.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// Another container holds it.
    #[error(
        "{folder}: this state folder is in use by {}; stop it, or give this one a folder of its own, and a server for a ledger that both share (docs/fleet.md)",
        .holder.as_ref().map_or_else(|| "another container".to_owned(), Holder::to_string)
    )]
    Held {
        /// The state folder.
        folder: String,
        /// The holder, if its description can be read.
        holder: Option<Holder>,
    },
    /// The lock cannot be taken for another reason.
    #[error("{0} cannot be locked ({1}); a second container with this state folder would not be noticed")]
    Unlocked(String, io::Error),
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "agent `{}`", self.agent)?;
        if let Some(host) = &self.host {
            write!(f, " of container `{host}`")?;
        }
        write!(f, ", since {}", timestamp(self.since))
    }
}

/// Holds the state folder until the file is closed; the kernel releases it with the process.
pub fn hold(environment: &Environment, now: DateTime<Utc>) -> Result<File, HoldError> {
    let folder = environment.state_dir.join("running");
    let path = folder.join("container");
    let unlocked = |error| HoldError::Unlocked(path.display().to_string(), error);
    fs::create_dir_all(&folder).map_err(unlocked)?;
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = open.map_err(unlocked)?;
    let until = Instant::now() + PATIENCE;
    while let Err(error) = file.try_lock() {
        match error {
            TryLockError::WouldBlock if Instant::now() < until => sleep(BETWEEN_TRIES),
            TryLockError::WouldBlock => {
                let mut text = Vec::new();
                let read = file.take(MOST_BYTES).read_to_end(&mut text);
                let holder = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
                return Err(HoldError::Held { folder: environment.state_dir.display().to_string(), holder });
            }
            TryLockError::Error(error) => return Err(unlocked(error)),
        }
    }
    let holder = Holder { agent: environment.ledger.agent_name(), host: host_name(), since: now };
    // The lock holds without its description.
    let _ = describe(&mut file, &holder);
    Ok(file)
}

fn describe(file: &mut File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(serde_json::to_string(holder)?.as_bytes())
}
