//! The log of a session: the client's stream without secrets, one line of JSON per event.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
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

    /// Removes logs and copies of hand-overs in `folder` that are older than `keep`, and the oldest while all of them take more than
    /// `most` bytes. The newest stays.
    pub fn clean(folder: &Path, keep: TimeDelta, most: u64, now: DateTime<Utc>) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut files: Vec<(DateTime<Utc>, u64, PathBuf)> = entries
            .filter(|entry| is_own(&entry.file_name().to_string_lossy()))
            .filter_map(|entry| {
                let file = entry.path().symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
                // What it takes on the disk: a file with holes has another length.
                Some((file.modified().ok()?.into(), file.blocks() * 512, entry.path()))
            })
            .collect();
        files.sort_unstable();
        let mut size: u64 = files.iter().map(|(_, size, _)| size).sum();
        let newest = files.len().saturating_sub(1);
        for (written, on_disk, path) in files.into_iter().take(newest) {
            if now - written > keep || size > most {
                size -= on_disk;
                // A file that cannot be removed is tried again by the next session.
                let _ = std::fs::remove_file(path);
            }
        }
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

/// Whether a name is that of a log or of a copy of a hand-over: `20260321T140000Z-tier1-3f0c5a6e.jsonl`,
/// `20260321T140000123Z-handoff-taken.json`.
fn is_own(name: &str) -> bool {
    let Some((time, what)) = name.split_once("Z-") else { return false };
    let is_time = time.len() >= 15 && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'T');
    let kind = what.rsplit_once('.').map(|(name, end)| (name.split('-').next().unwrap_or(name), end));
    is_time
        && match kind {
            Some((tier, "jsonl")) => tier.starts_with("tier"),
            Some(("handoff", "json")) => true,
            _ => false,
        }
}

/// A line of opsctl for the log.
pub fn own(key: &str, value: impl Into<Value>, now: DateTime<Utc>) -> Value {
    json!({"type": "opsctl", "at": time::write(now), key: value.into()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    #[test]
    fn old_logs_and_the_oldest_beyond_the_size_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let now = Utc::now();
        let mib = 1024 * 1024;
        for (name, days, size) in [
            ("20260301T140000Z-tier1-3f0c5a6e.jsonl", 91, 1),
            ("20260302T140000Z-tier2-3f0c5a6e.jsonl", 80, mib),
            ("20260303T140000123Z-handoff-taken.json", 70, mib),
            ("20260304T140000Z-tier1-4f0c5a6e.jsonl", 1, mib),
            ("notes.jsonl", 400, 1),
            ("20260301T140000Z-tier1-report.md", 400, 1),
        ] {
            let file = File::create(folder.path().join(name)).unwrap();
            std::io::Write::write_all(&mut &file, &vec![1; usize::try_from(size).unwrap()]).unwrap();
            file.set_modified((now - TimeDelta::days(days)).into()).unwrap();
        }
        Log::clean(folder.path(), TimeDelta::days(90), 2 * mib + 8192, now);
        let mut left: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "20260301T140000Z-tier1-report.md",
                "20260303T140000123Z-handoff-taken.json",
                "20260304T140000Z-tier1-4f0c5a6e.jsonl",
                "notes.jsonl"
            ]
        );
    }
}
