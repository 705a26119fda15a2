//! Lines that processes keep in a file until one of them can deliver them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::plain_file::{self, Content};
use crate::write_limit;

/// How often to look for a file that no other process takes at this moment.
const ATTEMPTS: u32 = 100;

/// A file of lines that are kept.
#[derive(Debug, Clone)]
pub struct KeptLines {
    /// The lines that wait.
    waiting: PathBuf,
    /// Those that a process delivers.
    claimed: PathBuf,
}

/// Lines that this process delivers. No other process does so until this is dropped.
#[derive(Debug)]
pub struct Claimed {
    /// The lines.
    pub text: Vec<u8>,
    path: PathBuf,
    _lock: Locked,
}

/// A locked file. A child that another thread has just started may still have it open, so closing it would not unlock it.
#[derive(Debug)]
struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl KeptLines {
    /// The file of this name in a folder.
    pub fn new(folder: &Path, name: &str) -> Self {
        let file = |suffix: &str| folder.join(format!("{name}{suffix}.jsonl"));
        Self { waiting: file(""), claimed: file(".claimed") }
    }

    /// Whether lines wait, or were claimed by a process that has not delivered them.
    pub fn exists(&self) -> bool {
        self.waiting.exists() || self.claimed.exists()
    }

    /// The lines that wait; `None` if they cannot be read.
    pub fn text(&self) -> Option<String> {
        let Ok(Content::Bytes(bytes)) = plain_file::read(&self.waiting, u64::MAX) else { return None };
        String::from_utf8(bytes).ok()
    }

    /// Appends a line. Commands may contain secrets, so that only this user may read the file.
    pub fn append(&self, line: &str) -> io::Result<()> {
        write_limit::fail_beyond();
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true).mode(0o600);
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        for _ in 0..ATTEMPTS {
            let file = options.open(&self.waiting)?;
            match file.try_lock() {
                Ok(()) => {}
                // Another process writes, or has claimed the file, which then has another name.
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let Locked(file) = &mut Locked(file);
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let named = self.waiting.metadata();
            if named.is_ok_and(|named| named.ino() == metadata.ino()) {
                let break_before = if is_cut_off(file, metadata.len())? { "\n" } else { "" };
                let written = file.write_all(format!("{break_before}{line}\n").as_bytes());
                if written.is_err() && file.metadata().is_ok_and(|file| file.len() == 0) {
                    // On a full disk a file can be created but not written.
                    let _ = std::fs::remove_file(&self.waiting);
                }
                return written;
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Claims the lines; `None` if there are none, or another process delivers them.
    pub fn claim(&self) -> Option<Claimed> {
        let Self { waiting, claimed } = self;
        // A claimed file is left over from a process that died; it comes first, and the waiting one next time.
        if !claimed.exists() && (!waiting.exists() || std::fs::rename(waiting, claimed).is_err()) {
            return None;
        }
        let (file, _) = plain_file::open(claimed).ok()?;
        // If the process that delivers it was killed, its lock is gone.
        file.try_lock().ok()?;
        let mut lock = Locked(file);
        let Locked(file) = &mut lock;
        // That process may have removed the file since, and a newer one may be in its place.
        if claimed.metadata().ok()?.ino() != file.metadata().ok()?.ino() {
            return None;
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).ok()?;
        Some(Claimed { text, path: claimed.clone(), _lock: lock })
    }
}

/// Whether the last line has no end: its writer was killed.
fn is_cut_off(file: &mut File, length: u64) -> io::Result<bool> {
    if length == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

impl Claimed {
    /// Removes the file, once its lines are delivered. If that fails, they are delivered once more.
    pub fn remove(self) {
        let _ = std::fs::remove_file(self.path);
    }

    /// Keeps only these lines.
    pub fn keep(&self, lines: &[&[u8]]) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let mut text = lines.join(&b'\n');
        text.push(b'\n');
        write_limit::fail_beyond();
        let mut options = OpenOptions::new();
        let written = options
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .and_then(|mut file| file.write_all(&text))
            .and_then(|()| std::fs::rename(&new, &self.path));
        if written.is_err() {
            let _ = std::fs::remove_file(new);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn lines_are_claimed_by_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptLines::new(folder.path(), "kept");
        assert!(kept.claim().is_none() && !kept.exists());
        kept.append("a").unwrap();
        let first = kept.claim().unwrap();
        kept.append("b").unwrap();
        assert!(kept.claim().is_none());
        assert_eq!(first.text, b"a\n");
        // It is not delivered, and comes before what waits.
        drop(first);
        // A process that another test has just begun holds the lock until it starts its program.
        let retried = || kept.claim().or_else(|| (sleep(Duration::from_millis(10)), None).1);
        let again = std::iter::repeat_with(retried).take(300).find_map(|claimed| claimed).unwrap();
        assert_eq!(again.text, b"a\n");
        again.remove();
        assert_eq!(kept.claim().unwrap().text, b"b\n");
    }

    #[test]
    fn a_line_that_was_cut_off_does_not_spoil_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptLines::new(folder.path(), "kept");
        std::fs::write(folder.path().join("kept.jsonl"), "cut o").unwrap();
        kept.append("a").unwrap();
        let claimed = kept.claim().unwrap();
        assert_eq!(claimed.text, b"cut o\na\n");
        claimed.keep(&[b"a"]).unwrap();
        drop(claimed);
        assert_eq!(kept.claim().unwrap().text, b"a\n");
    }

    /// To open it would wait for a writer.
    #[test]
    fn a_pipe_in_place_of_the_file_blocks_no_process() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptLines::new(folder.path(), "kept");
        for name in ["kept.jsonl", "kept.claimed.jsonl"] {
            let path = folder.path().join(name);
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }
        assert!(kept.claim().is_none() && kept.text().is_none() && kept.append("a").is_err());
    }
}
