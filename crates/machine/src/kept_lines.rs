//! Lines that processes keep in a file until one of them can deliver them.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::plain_file;

/// Lines that this process delivers. No other process does so until this is dropped.
#[derive(Debug)]
pub struct Claimed {
    /// The lines.
    pub text: Vec<u8>,
    path: PathBuf,
    _lock: File,
}

/// Claims the lines of the file `waiting` under the name `claimed`; `None` if there are none, or another process delivers them.
pub fn claim(waiting: &Path, claimed: PathBuf) -> Option<Claimed> {
    // A claimed file is left over from a process that died; it comes first, and the waiting one next time.
    if !claimed.exists() && (!waiting.exists() || std::fs::rename(waiting, &claimed).is_err()) {
        return None;
    }
    let (mut file, _) = plain_file::open(&claimed).ok()?;
    // If the process that delivers it was killed, its lock is gone.
    file.try_lock().ok()?;
    // That process may have removed the file since, and a newer one may be in its place.
    if claimed.metadata().ok()?.ino() != file.metadata().ok()?.ino() {
        return None;
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    Some(Claimed { text, path: claimed, _lock: file })
}

impl Claimed {
    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file, once its lines are delivered. If that fails, they are delivered once more.
    pub fn remove(self) {
        let _ = std::fs::remove_file(self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_claimed_by_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let (waiting, claimed) = (folder.path().join("waiting"), folder.path().join("claimed"));
        assert!(claim(&waiting, claimed.clone()).is_none());
        std::fs::write(&waiting, "a\n").unwrap();
        let first = claim(&waiting, claimed.clone()).unwrap();
        std::fs::write(&waiting, "b\n").unwrap();
        assert!(claim(&waiting, claimed.clone()).is_none());
        assert_eq!(first.text, b"a\n");
        // It is not delivered, and comes before what waits.
        drop(first);
        let again = claim(&waiting, claimed.clone()).unwrap();
        assert_eq!(again.text, b"a\n");
        again.remove();
        assert_eq!(claim(&waiting, claimed).unwrap().text, b"b\n");
    }

    /// To open it would wait for a writer.
    #[test]
    fn a_pipe_in_place_of_the_file_blocks_no_process() {
        let folder = tempfile::tempdir().unwrap();
        let claimed = folder.path().join("claimed");
        let made = std::process::Command::new("mkfifo").arg(&claimed).status().unwrap();
        assert!(made.success());
        assert!(claim(&folder.path().join("waiting"), claimed).is_none());
    }
}
