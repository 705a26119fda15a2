//! The transcript of a session that waits for a person. The client can only resume a session whose transcript is below its
//! home, and the home of a session may be gone by then, so a copy is kept in the state folder.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use opsctl_machine::plain_file;
use opsctl_machine::plain_file::Content;

/// The maximum size of all files of a transcript, in bytes.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// A transcript that cannot be kept or put back.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The client has written none, or it is gone.
    #[error("{} holds no transcript of the session", .0.display())]
    Missing(PathBuf),
    /// It is too large.
    #[error("the transcript of the session exceeds 256 MiB")]
    TooLarge,
    /// The copy is not the one that was kept.
    #[error("the copy of the transcript in {} was changed", .0.display())]
    Changed(PathBuf),
    /// A file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The files of a transcript: paths below the client's `projects` folder, and their content.
struct Files(Vec<(PathBuf, Vec<u8>)>);

/// The folder of transcripts below the client's folder.
pub fn projects(config_dir: Option<PathBuf>, home: Option<PathBuf>) -> PathBuf {
    config_dir.unwrap_or_else(|| home.unwrap_or_default().join(".claude")).join("projects")
}

/// The folder of the kept copy of a session's transcript.
fn kept(state: &Path, session: &str) -> PathBuf {
    state.join("waiting").join(session)
}

/// Keeps the transcript of a session. Returns its SHA-256, in hexadecimal.
pub fn keep(projects: &Path, state: &Path, session: &str) -> Result<String, TranscriptError> {
    let files = Files::of(projects, session)?;
    let folder = kept(state, session);
    remove(state, session);
    files.write_below(&folder)?;
    Ok(files.digest())
}

/// Puts the kept transcript back. `digest` is that of [`keep`]: another session may have changed the copy.
pub fn put_back(projects: &Path, state: &Path, session: &str, digest: &str) -> Result<(), TranscriptError> {
    let folder = kept(state, session);
    let files = Files::of(&folder, session)?;
    if files.digest() != digest {
        return Err(TranscriptError::Changed(folder));
    }
    files.write_below(projects)
}

/// Removes the kept transcript of a session that does not wait any more.
pub fn remove(state: &Path, session: &str) {
    // If this fails, the copy stays until the state folder is removed.
    let _ = fs::remove_dir_all(kept(state, session));
}

impl Files {
    /// The files of a session: `FOLDER/SESSION.jsonl` in the folder of a project, and those below `FOLDER/SESSION`.
    fn of(projects: &Path, session: &str) -> Result<Self, TranscriptError> {
        let missing = || TranscriptError::Missing(projects.to_owned());
        let folders = fs::read_dir(projects).map_err(|_| missing())?.flatten();
        let name = format!("{session}.jsonl");
        let folder = folders
            .map(|folder| folder.file_name())
            .find(|folder| projects.join(folder).join(&name).is_file())
            .ok_or_else(missing)?;
        let folder = PathBuf::from(folder);
        let mut paths = vec![folder.join(&name)];
        paths.extend(files_below(projects, &folder.join(session)));
        paths.sort();
        let mut left = MOST_BYTES;
        let mut files = Vec::new();
        for path in paths {
            match plain_file::read_no_link(&projects.join(&path), left) {
                Ok(Content::Bytes(bytes)) => {
                    left -= u64::try_from(bytes.len()).unwrap_or(left).min(left);
                    files.push((path, bytes));
                }
                Ok(Content::TooLarge(_)) => return Err(TranscriptError::TooLarge),
                Err(error) => return Err(TranscriptError::File { path: projects.join(path), error }),
            }
        }
        Ok(Self(files))
    }

    fn digest(&self) -> String {
        let mut context = Context::new(&SHA256);
        for (path, bytes) in &self.0 {
            for part in [path.as_os_str().as_encoded_bytes(), bytes] {
                context.update(&part.len().to_le_bytes());
                context.update(part);
            }
        }
        context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn write_below(&self, folder: &Path) -> Result<(), TranscriptError> {
        for (path, bytes) in &self.0 {
            let path = folder.join(path);
            let parent = path.parent().unwrap_or(folder);
            let written = fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(parent)
                .and_then(|()| fs::write(&path, bytes));
            written.map_err(|error| TranscriptError::File { path, error })?;
        }
        Ok(())
    }
}

/// The regular files below a folder, as paths below `root`. Links are left out.
fn files_below(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() => files.push(path),
                _ => {}
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_kept_transcript_is_put_back_into_another_home_unless_it_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new, state] = ["old", "new", "state"].map(|name| folder.path().join(name));
        write(&old.join("-app/s1.jsonl"), "line\n");
        write(&old.join("-app/s1/tool-results/long.txt"), "long");
        write(&old.join("-app/other.jsonl"), "not this one");
        for (file, text) in [
            ("-app/s1.jsonl", "line\nand what another session added\n"),
            ("-app/s1.jsonl", "lines"),
            ("-app/s1/added.txt", ""),
        ] {
            let digest = keep(&old, &state, "s1").unwrap();
            write(&state.join("waiting/s1").join(file), text);
            let put = put_back(&new, &state, "s1", &digest);
            assert!(matches!(put, Err(TranscriptError::Changed(_))), "{file}: {text:?}");
        }
        let digest = keep(&old, &state, "s1").unwrap();
        fs::remove_dir_all(&old).unwrap();
        assert!(matches!(keep(&old, &state, "s1"), Err(TranscriptError::Missing(_))));
        put_back(&new, &state, "s1", &digest).unwrap();
        assert_eq!(fs::read_to_string(new.join("-app/s1.jsonl")).unwrap(), "line\n");
        assert_eq!(fs::read_to_string(new.join("-app/s1/tool-results/long.txt")).unwrap(), "long");
        assert!(!new.join("-app/other.jsonl").exists());
        remove(&state, "s1");
        assert!(matches!(put_back(&new, &state, "s1", &digest), Err(TranscriptError::Missing(_))));
    }
}
