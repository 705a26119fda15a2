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

/// The pause between two of these attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// The size of a reserve in bytes.
const RESERVE: usize = 64 * 1024;

/// A file of lines that are kept.
#[derive(Debug, Clone)]
pub struct KeptLines {
    /// The lines that wait.
    waiting: PathBuf,
    /// Those that a process delivers.
    claimed: PathBuf,
    /// Line ends, which lines overwrite while no file can grow, as on a full disk.
    reserve: PathBuf,
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
        Self { waiting: file(""), claimed: file(".claimed"), reserve: file(".reserve") }
    }

    /// Whether lines wait, or were claimed by a process that has not delivered them.
    pub fn exists(&self) -> bool {
        self.waiting.exists() || self.claimed.exists() || self.has_reserved()
    }

    /// The lines that wait; `None` if they cannot be read.
    pub fn text(&self) -> Option<String> {
        let Ok(Content::Bytes(bytes)) = plain_file::read(&self.waiting, u64::MAX) else { return None };
        String::from_utf8(bytes).ok()
    }

    /// All lines that are not delivered, in the order in which they were kept. They may have blank lines between them.
    pub fn all(&self) -> Vec<u8> {
        let reserve = self.has_reserved().then_some(&self.reserve);
        let files = [&self.claimed, &self.waiting].into_iter().chain(reserve);
        let read = files.map(|file| plain_file::read(file, u64::MAX)).filter_map(|content| match content {
            Ok(Content::Bytes(bytes)) => Some(bytes),
            Ok(Content::TooLarge(_)) | Err(_) => None,
        });
        read.collect::<Vec<_>>().join(&b'\n')
    }

    /// Takes the space of the reserve on the disk, if the folder can be written.
    pub fn prepare(&self) {
        if self.reserve.metadata().is_ok_and(|file| file.len() >= RESERVE as u64) {
            return;
        }
        write_limit::fail_beyond();
        let mut options = OpenOptions::new();
        let created = options.create(true).write(true).truncate(true).mode(0o600).open(&self.reserve);
        // Without it, lines are kept as long as files can grow.
        let _ = created.and_then(|mut file| {
            file.write_all(&vec![b'\n'; RESERVE])?;
            // The blocks of a new file exist once they are written.
            file.sync_data()
        });
    }

    /// Whether the reserve has lines. The first of them begins it.
    fn has_reserved(&self) -> bool {
        let mut first = [b'\n'];
        plain_file::open(&self.reserve).is_ok_and(|(mut file, _)| file.read_exact(&mut first).is_ok())
            && first != *b"\n"
    }

    /// The reserve, locked, and its lines.
    fn reserved(&self) -> io::Result<(Locked, Vec<u8>)> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
        let mut locked = locked(&options, &self.reserve)?;
        if locked.0.metadata()?.len() != RESERVE as u64 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut text = Vec::new();
        locked.0.read_to_end(&mut text)?;
        text.truncate(text.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1));
        Ok((locked, text))
    }

    /// Moves the lines of the reserve to those that wait, once files can grow again. If this is interrupted, they are
    /// delivered twice.
    fn release_reserve(&self) -> io::Result<()> {
        let (mut locked, text) = self.reserved()?;
        if text.is_empty() {
            return Ok(());
        }
        self.append_to_file(&text)?;
        // The first byte, which states that there are lines, is the last one to be overwritten.
        locked.0.seek(SeekFrom::Start(1))?;
        locked.0.write_all(&vec![b'\n'; text.len() - 1])?;
        locked.0.rewind()?;
        locked.0.write_all(b"\n")
    }

    /// Appends a line, to the reserve if the file cannot be written. Commands may contain secrets, so that only this user may
    /// read both.
    pub fn append(&self, line: &str) -> io::Result<()> {
        self.append_to_file(line.as_bytes()).or_else(|why| {
            let (mut locked, text) = self.reserved().map_err(|_| why)?;
            let start = text.len() + usize::from(!text.is_empty());
            if start + line.len() >= RESERVE {
                return Err(io::ErrorKind::StorageFull.into());
            }
            locked.0.seek(SeekFrom::Start(start as u64))?;
            locked.0.write_all(line.as_bytes())?;
            locked.0.sync_data()
        })
    }

    fn append_to_file(&self, lines: &[u8]) -> io::Result<()> {
        write_limit::fail_beyond();
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true).mode(0o600);
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        for _ in 0..ATTEMPTS {
            // Another process writes, or has claimed the file, which then has another name.
            let Locked(file) = &mut locked(&options, &self.waiting)?;
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let named = self.waiting.metadata();
            if named.is_ok_and(|named| named.ino() == metadata.ino()) {
                let break_before = if is_cut_off(file, metadata.len())? { "\n" } else { "" };
                let written = file.write_all(&[break_before.as_bytes(), lines, b"\n"].concat());
                if written.is_err() {
                    // A part of a line would be the end of the file, and on a full disk a file can be created but not written.
                    let _ = file.set_len(metadata.len());
                    if metadata.len() == 0 {
                        let _ = std::fs::remove_file(&self.waiting);
                    }
                }
                return written;
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Claims the lines; `None` if there are none, or another process delivers them.
    pub fn claim(&self) -> Option<Claimed> {
        let Self { waiting, claimed, .. } = self;
        if self.has_reserved() {
            // If this fails, they stay in the reserve.
            let _ = self.release_reserve();
        }
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

/// The file, opened in this way and locked.
fn locked(options: &OpenOptions, path: &Path) -> io::Result<Locked> {
    for _ in 0..ATTEMPTS {
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => return Ok(Locked(file)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
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

    #[test]
    fn lines_of_a_file_that_cannot_grow_are_in_the_reserve_until_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptLines::new(folder.path(), "kept");
        let waiting = folder.path().join("kept.jsonl");
        std::os::unix::fs::symlink("nowhere/kept.jsonl", &waiting).unwrap();
        assert!(kept.append("a").is_err(), "there is no reserve");
        kept.prepare();
        for line in ["a", "b"] {
            kept.append(line).unwrap();
        }
        assert!(kept.append(&"x".repeat(RESERVE)).is_err() && kept.exists());
        assert!(kept.all().starts_with(b"a\nb\n\n"));
        assert!(kept.claim().is_none());
        std::fs::remove_file(&waiting).unwrap();
        kept.append("c").unwrap();
        assert_eq!(kept.claim().unwrap().text, b"c\na\nb\n");
        kept.claim().unwrap().remove();
        assert!(!kept.exists());
        kept.prepare();
        assert_eq!(folder.path().join("kept.reserve.jsonl").metadata().unwrap().len(), RESERVE as u64);
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
