//! The files of hand-overs in the state folder: `handoff.json`, written by a session, and `handoff-taken.json`, which the
//! next session gets in its prompt.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::{Handoff, HandoffError, MAX_BYTES, check};
use crate::sessions::mcp::tier::write_private;
use opsctl_machine::plain_file;
use opsctl_machine::plain_file::Content;
use opsctl_policy::model::rights::policy::Tier;

/// The folders with hand-overs.
#[derive(Debug, Clone)]
pub struct Desk {
    state: PathBuf,
    results: PathBuf,
}

impl Desk {
    /// `state` holds the current hand-over, `results` gets copies of past ones.
    pub fn new(state: &Path, results: &Path) -> Self {
        Self { state: state.to_owned(), results: results.to_owned() }
    }

    /// The file that a session writes.
    pub fn open_file(&self) -> PathBuf {
        self.state.join("handoff.json")
    }

    /// The file for the next session's prompt.
    pub fn taken_file(&self) -> PathBuf {
        self.state.join("handoff-taken.json")
    }

    /// Reads and checks the hand-over of a session of tier `from`; `None` if there is none.
    pub fn look(&self, from: Tier) -> Option<Result<Handoff, HandoffError>> {
        read(&self.open_file(), from)
    }

    /// Writes a hand-over.
    pub fn put(&self, text: &str) -> io::Result<()> {
        replace(&self.open_file(), text.as_bytes())
    }

    /// Removes the hand-over. If it is followed (`handoff`), it is stored for the next session. A copy without secrets goes
    /// to the results folder, unless the file is too large. Returns the path of the copy.
    pub fn take(&self, handoff: Option<&Handoff>, now: DateTime<Utc>) -> io::Result<Option<PathBuf>> {
        let open = self.open_file();
        let mut kept = None;
        if let Ok(Content::Bytes(text)) = plain_file::read_no_link(&open, MAX_BYTES) {
            let outcome = if handoff.is_some() { "taken" } else { "refused" };
            let name = format!("{}-handoff-{outcome}.json", now.format("%Y%m%dT%H%M%S%3fZ"));
            let copy = opsctl_redact::text(&String::from_utf8_lossy(&text)).into_owned();
            let path = self.results.join(name);
            // The copy is for people and may fail.
            kept = replace(&path, copy.as_bytes()).is_ok().then_some(path);
        }
        let put = match handoff {
            Some(handoff) => replace(&self.taken_file(), handoff.text.as_bytes()),
            None => remove(&self.taken_file()).map(|_| ()),
        };
        remove(&open)?;
        put.map(|()| kept)
    }

    /// Takes the stored hand-over for a session of this tier, and removes it.
    pub fn take_for(&self, tier: Tier) -> Option<Handoff> {
        // Every stored hand-over came from a lower tier.
        let handoff = read(&self.taken_file(), Tier::Observe)?.ok().filter(|handoff| handoff.to == tier);
        // If this fails, it is cleared at the start of the next round.
        let _ = remove(&self.taken_file());
        handoff
    }

    /// Removes hand-overs of an earlier round. Returns whether there were any.
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

/// Removes a file, symbolic link or folder; `false` if it does not exist.
fn remove(path: &Path) -> io::Result<bool> {
    let kind = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if kind.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.map(|()| true)
}

/// Replaces a file atomically. A folder with its name is removed.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|file| file.is_dir()) {
        fs::remove_dir_all(path)?;
    }
    write_private(path, bytes)
}
