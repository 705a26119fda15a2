//! Failures while the state folder cannot be written, as on a full disk. They are counted in a file that has its size already:
//! overwriting it needs no space.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use opsctl_machine::plain_file::{self, Content};
use opsctl_machine::write_limit;
use opsctl_policy::model::display::relative_time::timestamp;

/// The size of the file, in bytes.
const SIZE: usize = 4096;

/// The longest part of a message that is kept, in characters.
const MOST_CHARS: usize = 500;

/// Failures that could not be kept in another way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// The time of the first one.
    pub first: DateTime<Utc>,
    /// The time of the last one.
    pub last: DateTime<Utc>,
    /// How many there were.
    pub count: u64,
    /// The session of the first one.
    pub session: Option<String>,
    /// What the first one was.
    pub message: String,
    /// When the operators were last notified.
    pub notified: DateTime<Utc>,
}

impl Outage {
    /// The failures in one sentence.
    pub fn text(&self) -> String {
        let Self { first, last, count, message, .. } = self;
        let [first, last] = [first, last].map(|at| timestamp(*at));
        format!(
            "The state folder could not be written from {first} to {last} ({count} failures); the first: {message}"
        )
    }
}

fn path(state_dir: &Path) -> PathBuf {
    state_dir.join("guard-outage.json")
}

/// Creates the file, if the folder can be written.
pub fn prepare(state_dir: &Path) {
    let path = path(state_dir);
    if path.metadata().is_ok_and(|file| file.len() >= SIZE as u64) {
        return;
    }
    write_limit::fail_beyond();
    let created = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&path);
    // Without it, failures are not counted while the folder cannot be written.
    let _ = created.and_then(|file| overwrite(file, ""));
}

/// Failures of this process that the file cannot take, and their state folder: a guard serves many hooks.
static UNWRITTEN: Mutex<Option<(PathBuf, Outage)>> = Mutex::new(None);

fn unwritten() -> MutexGuard<'static, Option<(PathBuf, Outage)>> {
    UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a failure. Returns whether the operators are to be notified: they were not within `quiet`.
pub fn add(
    state_dir: &Path,
    session: Option<&str>,
    message: &str,
    quiet: TimeDelta,
    now: DateTime<Utc>,
) -> bool {
    write_limit::fail_beyond();
    let file = locked(state_dir);
    let mut outage = read(state_dir).unwrap_or_else(|| Outage {
        first: now,
        last: now,
        count: 0,
        session: session.map(|session| session.chars().take(200).collect()),
        message: message.chars().take(MOST_CHARS).collect(),
        notified: DateTime::UNIX_EPOCH,
    });
    let is_due = now < outage.notified || now - outage.notified >= quiet;
    outage.count += 1;
    outage.last = now;
    if is_due {
        outage.notified = now;
    }
    let written = file.and_then(|file| overwrite(file, &serde_json::to_string(&outage)?));
    *unwritten() = written.err().map(|_| (state_dir.to_owned(), outage));
    is_due
}

/// The failures, if there are any.
pub fn read(state_dir: &Path) -> Option<Outage> {
    let here =
        unwritten().as_ref().filter(|(folder, _)| folder == state_dir).map(|(_, outage)| outage.clone());
    here.or_else(|| {
        let Ok(Content::Bytes(text)) = plain_file::read_no_link(&path(state_dir), 2 * SIZE as u64) else {
            return None;
        };
        serde_json::from_slice(&text).ok()
    })
}

/// Forgets these failures, which are recorded; later ones stay.
pub fn clear(state_dir: &Path, recorded: &Outage) {
    let file = locked(state_dir);
    let later = read(state_dir).filter(|now| now.count > recorded.count && now.first == recorded.first);
    let later = later.map(|now| Outage { first: recorded.last, count: now.count - recorded.count, ..now });
    unwritten().take();
    let text = later.and_then(|later| serde_json::to_string(&later).ok()).unwrap_or_default();
    // If this fails, they are recorded once more.
    let _ = file.and_then(|file| overwrite(file, &text));
}

/// The file, locked. A pipe or a link in its place is an error.
fn locked(state_dir: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
    let file = options.open(path(state_dir))?;
    file.lock()?;
    Ok(file)
}

/// Writes the text, filled up with blanks.
fn overwrite(mut file: File, text: &str) -> io::Result<()> {
    if text.len() >= SIZE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    file.rewind()?;
    file.write_all(format!("{text:width$}\n", width = SIZE - 1).as_bytes())?;
    // The blocks of a new file exist once they are written.
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_no_file_takes_are_counted_by_their_process() {
        let folder = tempfile::tempdir().unwrap();
        let now: DateTime<Utc> = "2026-03-21T14:00:00Z".parse().unwrap();
        let add = |minutes| {
            let at = now + TimeDelta::minutes(minutes);
            super::add(folder.path(), Some("s1"), "read-only", TimeDelta::hours(1), at)
        };
        assert_eq!([0, 1, 61].map(add), [true, false, true]);
        let outage = read(folder.path()).unwrap();
        assert_eq!((outage.count, outage.last - outage.first), (3, TimeDelta::minutes(61)));
        prepare(folder.path());
        clear(folder.path(), &outage);
        assert_eq!(read(folder.path()), None);
    }
}
