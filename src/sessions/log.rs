//! The log of a session: the client's stream without secrets, one line of JSON per event.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use opsctl_ledger::time;
use opsctl_policy::model::rights::policy::Tier;

/// A log that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be written ({error}); free some space there", .path.display())]
pub struct LogError {
    path: PathBuf,
    error: io::Error,
}

/// An open log. After the first write error it is closed, and the session continues without it.
#[derive(Debug)]
pub struct Log {
    file: Option<File>,
    path: PathBuf,
}

impl Log {
    /// Creates a log in `folder`, which is created if it does not exist. Its owner and its group may read it.
    pub fn create(folder: &Path, tier: Tier, session: &str, now: DateTime<Utc>) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let short: String = session.chars().take(8).collect();
        let name = format!("{}-tier{}-{short}.jsonl", now.format("%Y%m%dT%H%M%SZ"), tier.number());
        let path = folder.join(name);
        let file = OpenOptions::new().append(true).create(true).mode(0o640).open(&path)?;
        Ok(Self { file: Some(file), path })
    }

    /// The path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line. Returns the first error; later lines are dropped without one.
    pub fn add(&mut self, line: &Value) -> Result<(), LogError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(format!("{line}\n").as_bytes()).map_err(|error| {
            self.file = None;
            LogError { path: self.path.clone(), error }
        })
    }
}

/// A line of opsctl for the log.
pub fn own(key: &str, value: impl Into<Value>, now: DateTime<Utc>) -> Value {
    json!({"type": "opsctl", "at": time::write(now), key: value.into()})
}
