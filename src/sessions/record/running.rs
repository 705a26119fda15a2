//! The sessions that run: each holds a lock on a file in the state folder, so what a killed one has left is found.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use opsctl_machine::plain_file::{self, Content};

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 64 * 1024;

/// A session that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Its row in the ledger.
    pub row: i64,
    /// Its id.
    pub session: String,
    /// Its tier.
    pub tier: u8,
    /// The folder of the client's transcripts.
    pub transcripts: PathBuf,
}

/// The file of a session that runs. The kernel releases its lock with the process.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    _lock: File,
}

impl Running {
    /// Writes the file and locks it.
    pub fn hold(&self, state: &Path) -> io::Result<Held> {
        let folder = state.join("running");
        fs::create_dir_all(&folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        // It is locked before it has its name: another process must not take it for one that was left.
        file.as_file().lock()?;
        let path = folder.join(format!("{}.json", self.session));
        let lock = file.persist(&path).map_err(|failed| failed.error)?;
        Ok(Held { path, _lock: lock })
    }
}

impl Held {
    /// Removes the file of a session whose end is recorded.
    pub fn end(self) {
        let _ = fs::remove_file(self.path);
    }
}

/// The sessions that a killed process, or a lost power supply, has left running.
pub fn left(state: &Path) -> Vec<(Running, Held)> {
    let entries = fs::read_dir(state.join("running")).into_iter().flatten().filter_map(Result::ok);
    let paths =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json"));
    let left = |path: PathBuf| {
        let lock = File::open(&path).ok()?;
        lock.try_lock().ok()?;
        let Ok(Content::Bytes(text)) = plain_file::read_no_link(&path, MOST_BYTES) else { return None };
        Some((serde_json::from_slice(&text).ok()?, Held { path, _lock: lock }))
    };
    paths.filter_map(left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_left_once_its_process_has_ended() {
        let state = tempfile::tempdir().unwrap();
        let session = "3f0c5a6e".to_owned();
        let running =
            Running { row: 7, session, tier: 2, transcripts: "/home/agent/.claude/projects".into() };
        let held = running.hold(state.path()).unwrap();
        assert_eq!(left(state.path()).len(), 0);
        drop(held);
        let found = left(state.path()).pop().unwrap();
        assert_eq!(found.0, running);
        assert_eq!(left(state.path()).len(), 0, "another process settles it");
        found.1.end();
        assert_eq!(left(state.path()).len(), 0);
    }
}
