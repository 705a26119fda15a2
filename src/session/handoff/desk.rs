//! Where hand-overs lie: `handoff.json` in the state folder, written by a session, and
//! `handoff-taken.json`, which the next session is told.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::{Handoff, HandoffError, MAX_BYTES, check};
use crate::model::policy::Tier;
use crate::plain_file::{self, Content};
use crate::session::redact::Redactor;

/// The folders that hold hand-overs.
#[derive(Debug, Clone)]
pub struct Desk {
    state: PathBuf,
    results: PathBuf,
}

impl Desk {
    /// The state folder holds those that are open, the results folder those of the past.
    pub fn new(state: &Path, results: &Path) -> Self {
        Self { state: state.to_owned(), results: results.to_owned() }
    }

    /// What a session wrote.
    pub fn open_file(&self) -> PathBuf {
        self.state.join("handoff.json")
    }

    /// What the next session is told.
    pub fn taken_file(&self) -> PathBuf {
        self.state.join("handoff-taken.json")
    }

    /// What lies there for tiers above `from`; `None` when nothing does.
    pub fn look(&self, from: Tier) -> Option<Result<Handoff, HandoffError>> {
        read(&self.open_file(), from)
    }

    /// Puts a hand-over down, once it is known to be one that can be followed.
    pub fn put(&self, handoff: &Handoff) -> io::Result<()> {
        replace(&self.open_file(), handoff.text.as_bytes())
    }

    /// Takes what lies there away, whatever it is: followed, it becomes what the next session is told; not
    /// followed, it is gone. A copy without secrets stays with the results where it is of a sensible size.
    pub fn take(&self, handoff: Option<&Handoff>, redactor: &Redactor, now: DateTime<Utc>) -> io::Result<()> {
        let open = self.open_file();
        if let Ok(Content::Bytes(text)) = plain_file::read_no_link(&open, MAX_BYTES) {
            let outcome = if handoff.is_some() { "taken" } else { "refused" };
            let name = format!("{}-handoff-{outcome}.json", now.format("%Y%m%dT%H%M%S%3fZ"));
            // For people to look at; the session goes on without it.
            let _ =
                replace(&self.results.join(name), redactor.text(&String::from_utf8_lossy(&text)).as_bytes());
        }
        let put = match handoff {
            Some(handoff) => replace(&self.taken_file(), handoff.text.as_bytes()),
            None => remove(&self.taken_file()).map(|_| ()),
        };
        remove(&open)?;
        put
    }

    /// What was taken for a session of this tier, which is told it once.
    pub fn take_for(&self, tier: Tier) -> Option<Handoff> {
        // It leads to this tier, so it came from a lower one.
        let handoff = read(&self.taken_file(), Tier::Observe)?.ok().filter(|handoff| handoff.to == tier);
        // Should it stay, it is cleared at the start of the next cycle.
        let _ = remove(&self.taken_file());
        handoff
    }

    /// Removes what an earlier cycle left; says whether there was anything.
    pub fn clear(&self) -> io::Result<bool> {
        let open = remove(&self.open_file())?;
        Ok(remove(&self.taken_file())? || open)
    }
}

fn read(file: &Path, from: Tier) -> Option<Result<Handoff, HandoffError>> {
    match plain_file::read_no_link(file, MAX_BYTES) {
        Ok(Content::Bytes(text)) => Some(check(&text, from)),
        Ok(Content::TooLarge(bytes)) => Some(Err(HandoffError::TooLarge(bytes))),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(Err(HandoffError::Unreadable(error))),
    }
}

/// Removes a file, a link (not what it leads to) or a folder; `false` when there is none.
fn remove(path: &Path) -> io::Result<bool> {
    let kind = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if kind.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.map(|()| true)
}

/// Puts a whole file in place, by one rename. A folder in its place is removed.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".opsctl-").tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    if fs::symlink_metadata(path).is_ok_and(|file| file.is_dir()) {
        fs::remove_dir_all(path)?;
    }
    temporary.persist(path).map(|_: File| ()).map_err(|failed| failed.error)
}
